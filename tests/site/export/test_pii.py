"""Private information: found where it is, and not in the numbers that an encyclopedia is full of."""

import time

import pytest

from llmpedia.rehearsal.settings import WorldSettings
from llmpedia.rehearsal.world.prose import article, outline
from llmpedia.rehearsal.world.world import World
from llmpedia.site.export.pii import PrivateHit, masked, private_hits

PRIVATE = [
    ("email", "Write to ", "jane.doe+x@mail.acme-corp.co.uk", ", please."),
    ("email", "(", "a_b@acme.io", ")"),
    ("email", "mail: ", "jane (at) acme (dot) org", ""),
    ("email", "mailto:", "JANE@ACME.ORG", "."),
    ("phone", "Call ", "+1 212-736-5000", "."),
    ("phone", "", "+44 20 7946 0958", " is hers"),
    ("phone", "", "+49 30 901820", ""),
    ("phone", "", "+919876543210", ""),
    ("phone", "at ", "(212) 736-5000", " today"),
    ("phone", "at ", "212-736-5000", "."),
    ("phone", "at ", "212.736.5000", ""),
    ("phone", "at ", "1-800-356-9377", ""),
    ("phone", "at ", "212-555-0142", ""),
    ("phone", "Tel.: ", "030 901820", "."),
    ("phone", "His phone number is ", "020 7946 0958", ","),
    ("phone", "fax ", "01 42 68 53 00", ""),
    ("address", "He lived at ", "742 Evergreen Terrace, Springfield, IL 62704", "."),
    ("address", "", "350 Fifth Avenue, New York, NY 10118-0110", ""),
    ("address", "", "12 N. Main St., Apt. 4B, Ann Arbor, MI 48104", ""),
    ("address", "", "10 Downing Street, London SW1A 2AA", ""),
    ("address", "", "24 Sussex Drive, Ottawa, ON K1M 1M4", ""),
    ("address", "in der ", "Hauptstraße 12, 10115 Berlin", "."),
    ("address", "au ", "12 rue de la Paix, 75002 Paris", ""),
    ("address", "She resides at ", "221 Baker Street", " with him"),
    ("address", "", "P.O. Box 123, Springfield, IL 62704", ""),
    ("id_number", "SSN: ", "219-09-9998", ""),
    ("id_number", "social security number ", "536 22 8726", ""),
    ("id_number", "", "536-22-8726", ""),
    ("id_number", "Visa ", "4111 1111 1111 1111", ""),
    ("id_number", "", "5500-0000-0000-0004", ""),
    ("id_number", "credit card ", "378282246310005", ""),
    ("id_number", "", "DE89 3704 0044 0532 0130 00", ""),
    ("id_number", "to ", "GB82WEST12345698765432", "."),
    ("id_number", "passport number ", "X12345678", "."),
    ("id_number", "Passport No. ", "123456789", ""),
    ("id_number", "tax ID: ", "12-3456789", ""),
    ("id_number", "National Insurance number ", "QQ 12 34 56 C", ""),
    ("id_number", "driver's license number is ", "D1234567", ""),
]

TEMPTING = [
    "The years 1914-1918 and 1939–1945; in 1066 and 2024.",
    "On 2023-12-04, 04.12.2023, 12/04/2023 and 20231204 at 10:30:45.",
    "ISBN 978-3-16-148410-0 and ISBN 0-306-40615-2, ISSN 2049-3630.",
    "isbn:9783161484100 and OCLC 123456789, PMID 12345678, doi:10.1000/182",
    "A population of 8,804,190 and 331,449,281 people, 1 234 567 in all.",
    "Pages 100-150 and pp. 1234–1256, 10-20 of 30-40.",
    "It costs $1,234,567.89 or US$ 12 500 000, £4000 or €1.000.000.",
    "At 40.7128, -74.0060 (40°42′46″N 74°00′22″W), 8848.86 m high.",
    "The number 3.14159265358979, 6.02214076e23 and 299792458 m/s; 1,000,000,007 is prime.",
    "Version 10.15.7, RFC 2616, ISO 8601-1:2019, IPv4 192.168.100.200.",
    "The Boeing 747-400, B-52, AK-47, M1911, Route 66 and the 7-Eleven.",
    "US Patent 6,285,999; patent no. 4 736 866; catalogue no. 123-456-7890.",
    "The score was 110-108, 25-23, 21-19-17; the series 4-3.",
    "HD 209458, NGC 6543, asteroid 99942, PSR B1919+21, 2MASS J05233822-1403022.",
    "Twitter @nasa and user@localhost, a@b, foo@bar.png and jane@example.org.",
    "He moved to 10 Downing Street and she to 221B Baker Street.",
    "5th Avenue, 42nd Street, 1 Infinite Loop, the 1963 March on Washington, DC.",
    "In 1940 Main Street was a film; 14 Way Stations, Virginia.",
    "The sum 1234 5678 9012 3456 fails the check, and 4111 1111 1111 1112 too.",
    "Numbers 000-12-3456, 666-12-3456 and 900-12-3456 are no social security numbers.",
    "GB82WEST12345698765433 has a wrong checksum.",
    "The passport was introduced in 1920 and reissued in 1998 and 2005.",
    (
        "The account of 1234567 people; bank account 1914-1918; passport 2003-04-05; tin 1234567; sin "
        "30 60 90 120."
    ),
    "He took 12 drives, 7 courts and 100 places in 1984, Orwell, AL.",
    "VIAF 102333412, ISNI 0000 0001 2125 2346, ORCID 0000-0002-1825-0097, GND 118540238.",
    "Between 1990-2000 2001-2010 some 555-1234 were sold.",
    "The call of 1848 and the contact of 19531954 were dialled down.",
    "16 digits: 1234567890123456; 13: 1234567890123.",
    "Kepler-186f lies 582 light-years off; 2003 UB313; 1I/2017 U1.",
    "Order 227, Directive 2001/29/EC, Resolution 1441 (2002), case C-131/12.",
]


@pytest.mark.parametrize(("kind", "before", "private", "after"), PRIVATE)
def test_private_information_is_found_as_it_stands(kind, before, private, after):
    text = f"{before}{private}{after}"
    hit = PrivateHit(kind, len(before), len(before) + len(private), private)
    assert private_hits(text) == [hit]
    assert (
        masked(text)[0]
        == f"{before}({ {'email': 'e-mail', 'id_number': 'id number'}.get(kind, kind) }){after}"
    )


@pytest.mark.parametrize("text", TEMPTING)
def test_what_an_encyclopedia_is_full_of_is_not_private(text):
    assert private_hits(text) == []


def test_all_of_a_text_in_order_and_none_twice():
    text = "\n".join(f"{before}{private}{after}" for _, before, private, after in PRIVATE)
    found = private_hits(text)
    assert [(hit.kind, hit.text) for hit in found] == [(kind, private) for kind, _, private, _ in PRIVATE]
    told, hits = masked(text)
    assert (
        hits == found
        and private_hits(told) == []
        and not any(private in told for _, _, private, _ in PRIVATE)
    )


def test_text_without_any_comes_back_as_it_is():
    assert masked("Nothing here. 1984.") == ("Nothing here. 1984.", [])


def test_articles_of_the_rehearsal_hold_none():
    world = World(WorldSettings(seed=6, entities=2000))
    names = [world.name(e) for e in range(0, 2000, 8)]
    assert [
        hit
        for name in names
        for hit in private_hits(article(world, name, outline(world, name, 4, 6, None), False))
    ] == []


@pytest.mark.parametrize(
    "loop",
    [
        "1 ",
        "1-",
        "a@",
        "a.",
        "A ",
        "12 A ",
        "a@a.",
        "(at)",
        "+1 ",
        "DE89 ",
        "passport ",
        "1 Main St, A ",
        "rue ",
        "1 rue a",
        "\u00a0",
        "1" * 50 + " ",
    ],
)
def test_a_text_that_loops_is_read_in_time(loop):
    start = time.process_time()
    private_hits(loop * (100_000 // len(loop)))
    assert time.process_time() - start < 3.0
