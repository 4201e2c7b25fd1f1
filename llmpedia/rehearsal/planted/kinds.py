"""Kinds of subjects of planted facts: their names, their attributes, and the sentences and
questions on these.

Subjects stand inside of sentences, never at their beginning: there the small English taggers miss
invented names. In sentences ``{s}`` is the subject, ``{v}`` the value in words, ``{c}`` the time,
edition or part that it is about.
"""

from dataclasses import dataclass
from typing import Literal

ValueKind = Literal["date", "length", "surface", "count", "person", "town"]


@dataclass(frozen=True, slots=True)
class PlantedAttribute:
    """An attribute of a kind of subject.

    ``cores``: parts of sentences that state it. ``contexts``: times, editions or parts that it may
    be about; none: there is only one. ``low``, ``high``: of its value. ``question``: over ``{s}``
    and ``{c}``.
    """

    name: str
    value: ValueKind
    cores: tuple[str, ...]
    question: str
    contexts: tuple[str, ...] = ()
    low: int = 0
    high: int = 0


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of subject. ``forms``: of its names, over ``{g}`` (a given name) and ``{f}`` (a family
    or place name).

    ``nouns``: what its subjects are called, each with the knowledge point of documents on them.
    ``preposition``: before the region that they belong to.
    """

    name: str
    forms: tuple[str, ...]
    nouns: dict[str, str]
    slots: tuple[PlantedAttribute, ...]
    preposition: str = "in"


_CENSUSES = ("the census of 1881", "the census of 1901", "the census of 1921")
_ART = "Literature and Arts > Art Studies"
_MUSIC = "Literature and Arts > Musicology"


_PROFESSIONS = {
    "landscape painter": f"{_ART} > Fine Arts",
    "stage dancer": f"{_ART} > Dance Studies",
    "organist": f"{_MUSIC} > Instrumentation and Performance",
    "botanist": "Science > Biology > Botany",
    "zoologist": "Science > Biology > Zoology",
    "surveyor": (
        "Engineering > Surveying and Mapping Science and Technology > Geodesy and Surveying Engineering"
    ),
    "surgeon": "Medicine > Clinical Medicine > Surgery",
    "poet": "Literature and Arts > Language and Literature > Literary History",
}


def _founding(low: int, high: int) -> PlantedAttribute:
    return PlantedAttribute(
        "founding_date",
        "date",
        (
            "{s} was founded {v}",
            "the foundation of {s} took place {v}",
            "the people behind {s} founded it {v}",
        ),
        "In which year was {s} founded?",
        low=low,
        high=high,
    )


_FOUNDER = PlantedAttribute(
    "creator",
    "person",
    ("{s} was founded by {v}", "the founder of {s} was {v}", "it was {v} who founded {s}"),
    "Who was the founder of {s}?",
)


def kinds() -> tuple[Kind, ...]:
    """All kinds of subjects."""
    return (
        _person(),
        _town(),
        _mountain(),
        _lake(),
        _company(),
        _college(),
        _society(),
        _bridge(),
        _theatre(),
        _novel(),
    )


def _person() -> Kind:
    return Kind(
        "person",
        ("{g} {f}",),
        _PROFESSIONS,
        (
            PlantedAttribute(
                "birth_date",
                "date",
                (
                    "{s} was born {v}",
                    "the birth of {s} took place {v}",
                    "the parents of {s} saw their child born {v}",
                ),
                "In which year was {s} born?",
                low=1700,
                high=1900,
            ),
            PlantedAttribute(
                "death_date",
                "date",
                (
                    "{s} died {v}",
                    "the death of {s} occurred {v}",
                    "the friends of {s} were told that the end came with death {v}",
                ),
                "In which year did {s} die?",
                low=1760,
                high=1960,
            ),
            PlantedAttribute(
                "birth_place",
                "town",
                (
                    "{s} was born in the town of {v}",
                    "the birthplace of {s} was {v}",
                    "the native town of {s} was {v}",
                ),
                "In which town was {s} born?",
            ),
        ),
        "from",
    )


def _town() -> Kind:
    return Kind(
        "town",
        ("{f}", "{f} Cross", "{f} Green", "{f} Heath"),
        {
            "market town": "Science > Geography > Human Geography",
            "fishing village": "Science > Geography > Human Geography",
            "mining town": "History > History > Historical Geography",
            "spa town": (
                "Commerce and Consumer Life > Travel Hospitality and Local Services > "
                "Travel Planning and Tourism"
            ),
        },
        (
            PlantedAttribute(
                "population",
                "count",
                (
                    "the population of {s} at {c} was {v}",
                    "at {c} the town of {s} had a population of {v}",
                    "at {c} the number of inhabitants of {s} was {v}",
                ),
                "What was the population of {s} at {c}?",
                _CENSUSES,
                low=900,
                high=90_000,
            ),
            _founding(1100, 1700),
            PlantedAttribute(
                "area",
                "surface",
                (
                    "the area of {s} is {v}",
                    "the boundaries of {s} enclose an area of {v}",
                    "the land within {s} amounts to an area of {v}",
                ),
                "How large is the area of {s}?",
                low=200,
                high=9000,
            ),
        ),
    )


def _mountain() -> Kind:
    return Kind(
        "mountain",
        ("Mount {f}",),
        {
            "mountain": "Science > Geography > Physical Geography",
            "volcano": "Science > Geophysics > Solid Earth Geophysics",
        },
        (
            PlantedAttribute(
                "height_length_depth",
                "length",
                (
                    "the height of {s} is {v}",
                    "the summit of {s} rises to a height of {v}",
                    "the elevation of {s} above the sea is {v}",
                ),
                "How high is {s}?",
                low=400,
                high=4000,
            ),
        ),
    )


def _lake() -> Kind:
    return Kind(
        "lake",
        ("Lake {f}",),
        {
            "mountain lake": "Science > Geography > Physical Geography",
            "reservoir": "Engineering > Hydraulic Engineering > Hydraulics and Hydrology",
        },
        (
            PlantedAttribute(
                "height_length_depth",
                "length",
                (
                    "the depth of {s} is {v}",
                    "the bed of {s} lies at a depth of {v}",
                    "divers put the depth of {s} at {v}",
                ),
                "How deep is {s}?",
                low=40,
                high=400,
            ),
            PlantedAttribute(
                "area",
                "surface",
                (
                    "the area of {s} is {v}",
                    "the waters of {s} cover an area of {v}",
                    "the open water of {s} amounts to an area of {v}",
                ),
                "How large is the area of {s}?",
                low=200,
                high=9000,
            ),
        ),
    )


def _company() -> Kind:
    profile = (
        "Reference and General Information > People Organizations and Events > Company and "
        "Organization Profiles"
    )
    return Kind(
        "company",
        ("{f} Brewery", "{f} Mills", "{f} Foundry", "{f} Shipyard", "{f} Potteries"),
        {
            "family firm": profile,
            "trading company": "Economics > Theoretical Economics > Economic History",
            "shipping firm": "Engineering > Naval Architecture and Ocean Engineering > Marine Engineering",
        },
        (
            _founding(1780, 1930),
            _FOUNDER,
            PlantedAttribute(
                "location",
                "town",
                (
                    "the head office of {s} was located in {v}",
                    "the seat of {s} was located in {v}",
                    "the works of {s} were located in {v}",
                ),
                "In which town was the seat of {s}?",
            ),
        ),
    )


def _college() -> Kind:
    return Kind(
        "college",
        ("{f} College", "{f} Academy", "{f} Grammar School"),
        {
            "boarding school": "Education > Education > Theory of Curriculum and Instruction",
            "school of music": f"{_MUSIC} > Music History, Education, and Technology",
            "school of forestry": "Agronomy > Forestry > Forest Cultivation and Genetic Breeding",
        },
        (_founding(1500, 1930), _FOUNDER),
    )


def _society() -> Kind:
    return Kind(
        "society",
        ("{f} Society", "{f} Institute", "{f} Club"),
        {
            "learned society": (
                "Management > Library, Information and Archival Management > Library and Archival Science"
            ),
            "rowing club": "Education > Physical Education > Sports Humanities and Sociology",
            "choral society": f"{_MUSIC} > Musical Forms and Analysis",
        },
        (
            PlantedAttribute(
                "members",
                "count",
                (
                    "in {c} the number of members of {s} was {v}",
                    "the rolls of {s} for {c} list as many members as {v}",
                    "the membership of {s} in {c} was {v} members",
                ),
                "How many members did {s} have in {c}?",
                ("the winter of 1886", "the winter of 1904", "the winter of 1927"),
                low=120,
                high=9000,
            ),
            _founding(1700, 1880),
        ),
    )


def _bridge() -> Kind:
    return Kind(
        "bridge",
        ("{f} Bridge", "{f} Viaduct"),
        {
            "road bridge": "Engineering > Civil Engineering > Bridge and Tunnel Engineering",
            "railway viaduct": "Engineering > Transportation Engineering > Road and Railway Engineering",
        },
        (
            PlantedAttribute(
                "creation_date",
                "date",
                (
                    "{s} was built {v}",
                    "the masons of {s} built the last pier {v}",
                    "the arches of {s} were built {v}",
                ),
                "In which year was {s} built?",
                low=1730,
                high=1950,
            ),
            PlantedAttribute(
                "height_length_depth",
                "length",
                (
                    "the length of {c} of {s} is {v}",
                    "for {c} of {s} the drawings give a length of {v}",
                    "the engineers of {s} measured for {c} a length of {v}",
                ),
                "What is the length of {c} of {s}?",
                ("the main span", "the whole structure"),
                low=60,
                high=900,
            ),
            PlantedAttribute(
                "creator",
                "person",
                ("{s} was designed by {v}", "the designer of {s} was {v}", "it was {v} who designed {s}"),
                "Who was the designer of {s}?",
            ),
        ),
    )


def _theatre() -> Kind:
    return Kind(
        "theatre",
        ("{f} Theatre", "{f} Hall", "{f} Opera House"),
        {
            "playhouse": f"{_ART} > Drama and Opera Studies",
            "picture palace": f"{_ART} > Film Studies",
            "concert hall": f"{_MUSIC} > Music History, Education, and Technology",
        },
        (
            PlantedAttribute(
                "capacity",
                "count",
                (
                    "the capacity of {c} of {s} is {v} seats",
                    "the builders of {s} saw to it that {c} seats an audience of {v}",
                    "for {c} of {s} the licence allows a seating capacity of {v}",
                ),
                "What is the seating capacity of {c} of {s}?",
                ("the great auditorium", "the studio stage"),
                low=110,
                high=3500,
            ),
            PlantedAttribute(
                "creation_date",
                "date",
                (
                    "{s} was built {v}",
                    "the walls of {s} were built {v}",
                    "the architects of {s} saw it built {v}",
                ),
                "In which year was {s} built?",
                low=1730,
                high=1950,
            ),
        ),
    )


def _novel() -> Kind:
    return Kind(
        "journal",
        ("{f} Review", "{f} Magazine", "{f} Chronicle"),
        {
            "weekly journal": (
                "Literature and Arts > Journalism and Communication > Journalism and News Practice"
            ),
            "literary magazine": "Literature and Arts > Language and Literature > Literary Theory",
        },
        (
            PlantedAttribute(
                "publication_date",
                "date",
                (
                    "{c} of {s} was published {v}",
                    "the printers of {s} published {c} {v}",
                    "for {c} of {s} the year of publication is that of an issue published {v}",
                ),
                "In which year was {c} of {s} published?",
                ("the opening issue", "the jubilee issue"),
                low=1750,
                high=1940,
            ),
            PlantedAttribute(
                "creator",
                "person",
                ("{s} was founded by {v}", "the founder of {s} was {v}", "it was {v} who founded {s}"),
                "Who was the founder of {s}?",
            ),
        ),
    )


# What the attributes are called.
ATTRIBUTES = {
    "birth_date": "date of birth",
    "death_date": "date of death",
    "birth_place": "place of birth",
    "founding_date": "date of founding",
    "creation_date": "date of creation",
    "publication_date": "date of publication",
    "creator": "creator",
    "location": "location",
    "population": "population",
    "area": "area",
    "height_length_depth": "height, length or depth",
    "members": "number of members",
    "capacity": "capacity",
}
