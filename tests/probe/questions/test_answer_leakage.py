"""What questions give away, and what they do not."""

import pytest

from llmpedia.probe.questions.answer_leakage import leak, same_value, says, shares


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("Who led it in 1871?", ["1871", "1874"]),
        ("Was it built in eighteen seventy-one?", ["1871", "1874"]),
        ("Was it one thousand eight hundred and seventy-four?", ["1871", "1874"]),
        ("Wer baute es achtzehnhunderteinundsiebzig?", ["1871", "1874"]),
        ("In which year, not 1874 as some say, was it built?", ["1871", "1874"]),
        ("How many of the twelve came?", ["12", "14"]),
        ("How many of the dozen came?", ["12", "14"]),
        ("How many of the 1200 came?", ["1,200 people", "1,300 people"]),
        ("How many of the 1.2 million came?", ["1,200,000", "1,300,000"]),
        ("Which number did the fourteenth Louis have?", ["XIV", "XV"]),
        ("What does 14 stand for in the name?", ["XIV", "XV"]),
        ("Which place had the 1st and the last?", ["1st", "2nd"]),
        ("What happened on May 12, 1900?", ["12 May 1900", "13 May 1900"]),
        ("What happened on 1900-05-12 of the era?", ["12 May 1900", "13 May 1900"]),
        ("What happened on the 12. Mai 1900?", ["12 May 1900", "13 May 1900"]),
        ("What happened on the 12 de mayo?", ["12 May 1900", "13 May 1900"]),
        ("What happened on the twelfth?", ["12 May 1900", "13 May 1900"]),
        ("In which month of 1910 was it?", ["26 August 1910", "27 July 1911"]),
        ("On which day of August was it?", ["26 August 1910", "27 July 1910"]),
        ("On which day of August was it?", ["26 August 1910", "1910"]),
        ("What was built in the 1870s?", ["1871", "1884"]),
        ("What was built in the eighteen seventies?", ["1871", "12 May 1884"]),
        ("When in the nineteenth century was it built?", ["1871", "1911"]),
        ("In which decade was 1871?", ["1870s", "1880s"]),
        ("Which Berlin house is it?", ["Berlin", "Hamburg"]),
        ("Which Berliner is it?", ["Berlin", "Hamburg"]),
        ("Which man of BERLIN's is it?", ["Berlin", "Hamburg"]),
        ("Which man of Zürich is it?", ["Zurich", "Basel"]),
        ("Which man of Zurich is it?", ["Zürich", "Basel"]),
        ("Which of St Johns' towers?", ["St. John's", "Saint Paul"]),
        ("Who is the poet?", ["a poet", "a painter"]),
        ("Who built the Smith Tower?", ["John Smith", "John Brown"]),
        ("Which language, C++ or another, is it?", ["C++", "C#"]),
        ("Is it C or another?", ["C", "D"]),
        ("Is it Io?", ["Io", "Ceres"]),
        ("東京の塔は?", ["東京", "大阪"]),
        ("What was founded before 1900?", ["before 1900", "1901"]),
        ("Which 5 children came?", ["5 children", "5 grandchildren"]),
    ],
)
def test_an_answer_in_the_question_is_a_leak(question, answers):
    assert "gives away" in leak(question, answers)
    assert "gives away" in leak(question, answers[::-1])


@pytest.mark.parametrize(
    ("question", "answers"),
    [
        ("In which year was it built?", ["1871", "1874"]),
        ("On which day of August 1910 was she born?", ["26 August 1910", "27 August 1910"]),
        ("In which month of 1910 was she born?", ["26 August 1910", "27 July 1910"]),
        ("When in the nineteenth century was it built?", ["1871", "1874"]),
        ("When in the 1870s was it built?", ["1871", "1874"]),
        ("Which John built it?", ["John Smith", "John Brown"]),
        ("How many people live there?", ["12 people", "15 people"]),
        ("How many people live there?", ["12 people", "15 inhabitants"]),
        ("Who were the twelve?", ["12 men", "12 women"]),
        ("How many children had the man born on 5 May 1820?", ["5", "7"]),
        ("How many children had the first wife, in his second year?", ["1", "2"]),
        ("Which one of the two had more?", ["1", "3"]),
        ("In which town of Scotland was the artist born?", ["Art", "Io"]),
        ("What is the count of that list?", ["10", "I"]),
        ("How many moons has the planet?", ["12", "14"]),
        ("What may the height be?", ["May 1900", "June 1901"]),
        ("How high is the 112 metre long house?", ["12 m", "11 m"]),
        ("In which year, and of which king, was it?", ["XIX", "XX"]),
        ("Who founded it near the river?", ["near Paris", "Lyon"]),
        ("What was the profession of the man?", ["the Poet", "the Painter"]),
    ],
)
def test_what_tells_no_account_from_another_is_no_leak(question, answers):
    assert leak(question, answers) is None


def test_a_leak_names_what_and_of_which_answer():
    assert (
        leak("Who built it in eighteen seventy-four?", ["1871", "1874"])
        == "it gives away 1874 of the answer '1874'"
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,200", "1200"),
        ("1.2 million", "1,200,000"),
        ("12 May 1900", "May 12, 1900"),
        ("1900-05-12", "12. Mai 1900"),
        ("twelve", "12 people"),
        ("The Poet", "poet"),
        ("Saint-Denis", "saint denis"),
        ("XIV", "14"),
        ("Washington DC", "Washington, D.C."),
        ("São Paulo", "Sao Paulo"),
        ("5 m", "5 metres"),
        ("5m", "5"),
        ("$5", "5 dollars"),
        ("c. 1910", "1910"),
        ("12 men of company B", "12 men"),
    ],
)
def test_one_value_in_two_forms(one, other):
    assert same_value(one, other) and same_value(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1,200", "1,300"),
        ("5 °C", "-5 °C"),
        ("3.5", "35"),
        ("5 km", "5 miles"),
        ("before 1900", "1900"),
        ("12 May 1900", "May 1900"),
        ("18th century", "19th century"),
        ("1870s", "1880s"),
        ("vitamin A", "vitamin C"),
        ("C", "C++"),
        ("from Rome to Bonn", "from Bonn to Rome"),
        ("5 m", "5 km"),
        ("5 kg", "5 g"),
        ("20 °C", "20 °F"),
        ("10° N", "10° S"),
        ("$5 million", "€5 million"),
    ],
)
def test_two_values_are_two(one, other):
    assert not same_value(one, other) and not same_value(other, one)


@pytest.mark.parametrize(
    ("text", "name", "held"),
    [
        ("the lighthouse of Marrow Point", "Marrow Point", True),
        ("the MARROW-POINT light", "Marrow Point", True),
        ("the party", "art", False),
        ("the artist", "art", False),
        ("A.B. Castle", "AB", True),
        ("room 19 10", "1910", False),
        ("a !!! song", "!!!", True),
        ("a song", "!!!", False),
        ("a song", " ", False),
    ],
)
def test_a_name_is_found_by_whole_words(text, name, held):
    assert says(text, name) is held


@pytest.mark.parametrize(
    ("value", "source", "can"),
    [
        ("1871", "was built in 1871 by Penn", True),
        ("1871", "was built on 3 May 1871", True),
        ("May 1871", "was built on 3 May 1871", True),
        ("1999", "was built in 1871", False),
        ("4 May 1871", "was built on 3 May 1871", False),
        ("twelve men", "12 men", True),
        ("a carpenter", "He was a Carpenter.", True),
        ("a joiner", "He was a carpenter.", False),
    ],
)
def test_whether_a_value_can_come_from_a_text(value, source, can):
    assert shares(value, source) is can


@pytest.mark.parametrize(
    "text", ["", " ", "\ud800 12", "\x00", "9" * 5000 + "th", "aprıl 1900", "99.99.9999", "\u0301", "١٢"]
)
def test_strange_text_is_read_without_an_error(text):
    assert leak("When was Dray built?", [text, "no such thing"]) is None
    assert leak(f"When, {text}?", ["1871", "1874"]) is None
    assert same_value(text, text)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("ဘယ်သူက ရန်ကုန်မြို့ကို တည်ထောင်ခဲ့သလဲ", "ရန်ကုန်"),
        ("နိုင်ငံ၏မြို့တော်မန္တလေးသည်ဘယ်နှစ်ခုနှစ်တွင်", "မန္တလေး"),
        ("តើព្រះរាជាណាសាងសង់អង្គរវត្តនៅសតវត្សណា", "អង្គរវត្ត"),
        ("ໃຜສ້າງວຽງຈັນໃນປີໃດ", "ວຽງຈັນ"),
        ("ใครเป็นผู้ก่อตั้งกรุงเทพมหานครขึ้น", "กรุงเทพ"),
        ("誰が大阪城を建てたのか", "大阪"),
        ("谁建造了北京故宫", "北京"),
        ("ལྷ་སའི་ཕོ་བྲང་སུས་བཞེངས", "ལྷ་ས"),
        ("ꦱꦥꦏꦁꦩꦧꦔꦸꦤ꧀ꦪꦺꦴꦒꦾꦏꦂꦠ", "ꦪꦺꦴꦒꦾꦏꦂꦠ"),
    ],
)
def test_an_answer_inside_a_run_of_unspaced_words_is_given_away(question, answer):
    """Burmese had been taken for a script with spaces, so that a name in mid-sentence was not seen."""
    assert leak(question, [answer, "other"]) is not None


@pytest.mark.parametrize(
    ("question", "answer"), [("မြန်မာစာကို ဘယ်သူရေးသလဲ", "ရန်ကုန်"), ("誰が城を建てたのか", "大阪")]
)
def test_an_answer_that_is_not_there_is_not(question, answer):
    assert leak(question, [answer, "other"]) is None


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("서울에서 열린 대회는 언제인가", "서울"),
        ("누가 세종대왕께서는 무엇을 만드셨나", "세종대왕"),
        ("대한민국서울에 있는 탑", "서울"),
        ("강은 어디에 있는가", "강"),
        ("대한민국의 수도", "대한 민국"),
        ("NASAの衛星はどこから打ち上げられたか", "NASA"),
        ("BBC에서 방송한 것은", "BBC"),
        ("ရန်ကုန့်သမိုင်းကို ဘယ်သူရေးသလဲ", "ရန်ကုန်"),
        ("ﾄｳｷｮｳを建てたのは", "トウキョウ"),
    ],
)
def test_particles_and_neighbours_of_another_script_hide_no_answer(question, answer):
    assert leak(question, [answer, "other"]) is not None


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("ใครปลูกต้นไม้", "ปี"),
        ("តើរាជានៅឯណា", "រូជី"),
        ("မြန်မာစာကို ဘယ်သူရေးသလဲ", "မုန်"),
        ("ການປົກຄອງ", "ປີ"),
        ("かくを作ったのは", "がく"),
        ("설악산은 어디에", "서"),
        ("한강을 건넌 사람", "강"),
    ],
)
def test_other_vowels_voices_and_syllables_are_other_words(question, answer):
    """Without its vowel signs a short name would be in nearly every question."""
    assert leak(question, [answer, "other"]) is None
