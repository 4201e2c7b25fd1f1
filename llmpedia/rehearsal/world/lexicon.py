"""The words that names and articles of the world are made of: syllables of many scripts, templates,
nouns, headings.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from llmpedia.rehearsal.world.seeded_random import dice


@dataclass(frozen=True)
class Culture:
    """Syllables of names, endings of places; ``latin`` names fit into English templates."""

    syllables: tuple[str, ...]
    endings: tuple[str, ...]
    latin: bool = True
    joint: str = " "
    lengths: tuple[int, int] = (2, 3)


@cache
def cultures() -> tuple[Culture, ...]:
    """All cultures, of ``cultures.yaml``; the Latin ones first."""
    rows = yaml.safe_load(Path(__file__).with_name("cultures.yaml").read_text(encoding="utf-8"))
    return tuple(_culture(row) for row in rows)


def _culture(row: dict[str, Any]) -> Culture:
    syllables = tuple(row["syllables"].split())
    endings = tuple(row["endings"].split()) or ("",)
    shortest, longest = row["lengths"]
    return Culture(syllables, endings, row["latin"], row["joint"], (shortest, longest))


def stems(culture: Culture, n: int, *parts: object) -> list[str]:
    """At most ``n`` different name words of a culture."""
    rng = dice("stems", *parts)
    out: dict[str, None] = {}
    low, high = culture.lengths
    for _ in range(4 * n):
        count = low + int(rng.random() * (high - low + 1))
        word = "".join(culture.syllables[int(rng.random() * len(culture.syllables))] for _ in range(count))
        out[word[:1].upper() + word[1:]] = None
        if len(out) == n:
            break
    return list(out)


ADJECTIVES = (
    "Amber Ancient Azure Bitter Black Blind Blue Bright Broken Brown Burning Clear Cold Copper "
    "Crimson Crooked Dark "
    "Deep Distant Double Dry Early Empty Endless Fading Final First Forgotten Frozen Gentle Gilded "
    "Glass Golden Great "
    "Green Grey Hidden Hollow Holy Hungry Idle Inner Iron Ivory Last Late Lesser Little Long "
    "Lonely Lost Loud Narrow "
    "Northern Open Outer Pale Patient Quiet Red Restless Royal Sacred Scarlet Second Secret "
    "Severed Sharp Silent "
    "Silver Sleeping Slow Small Southern Stolen Strange Sunken Tall Third Tired Twin Unfinished "
    "Upper Velvet Violet "
    "Wandering Western White Wild Winter Wooden Young"
).split()
NOUNS = (
    "Anchor Arch Arrow Ash Balcony Bell Bird Bridge Candle Canyon Carpet Castle Cellar Chapel "
    "Chart Circle Clock "
    "Cloud Coast Compass Corridor Crown Current Dawn Door Dream Ember Engine Falcon Feather Field "
    "Fire Flood Forest "
    "Forge Fountain Garden Gate Ghost Glacier Harbour Harvest Heron Hill Horizon Horse House "
    "Island Journey Key "
    "Kingdom Ladder Lake Lantern Letter Library Lighthouse Machine Mask Meadow Mill Mirror Moon "
    "Morning Mountain "
    "Needle Night Oak Ocean Orchard Painter Palace Path Pearl Piano Pilgrim Planet Portrait Prison "
    "Promise Queen Rain "
    "Raven Reef River Road Rose Sailor Salt Sea Shadow Ship Shore Signal Sister Sky Snow Song Star "
    "Station Stone "
    "Storm Stranger Street Summer Table Thorn Thread Throne Tide Tower Train Tree Valley Violin "
    "Voice Wall Watchman "
    "Water Whale Wheel Widow Wind Window Wolf Word"
).split()
REGIONS = (
    "Maine Ontario Bavaria Kent Lombardy Galicia Silesia Texas Otago Skåne Brittany Kerala "
    "Vermont Anatolia Tasmania"
).split()

# Type -> what the lead may call it.
TYPES: dict[str, tuple[str, ...]] = {
    "person": (
        "composer",
        "engineer",
        "painter",
        "physicist",
        "politician",
        "poet",
        "explorer",
        "botanist",
        "economist",
        "architect",
    ),
    "place": ("town", "city", "region", "island", "valley", "harbour town", "mountain village"),
    "institution": ("university", "research institute", "museum", "learned society", "hospital", "library"),
    "work": ("novel", "film", "symphony", "painting", "stage play", "poem", "journal"),
    "event": ("battle", "uprising", "treaty", "exhibition", "earthquake", "conference", "expedition"),
    "company": ("company", "shipyard", "publisher", "bank", "railway company"),
    "law": ("statute", "prize", "doctrine", "convention"),
    "thing": ("ship", "aircraft", "locomotive", "telescope", "programming language"),
}

# Templates over (%s: a place or family word); each with another name of the same thing.
INSTITUTIONS = (
    ("University of %s", "%s University"),
    ("%s Institute of Technology", "Institute of Technology at %s"),
    ("%s Museum of Art", "Museum of Art in %s"),
    ("Royal Society of %s", "%s Royal Society"),
    ("%s General Hospital", "General Hospital of %s"),
    ("National Library of %s", "%s National Library"),
    ("%s College", "College of %s"),
    ("%s Observatory", "Observatory of %s"),
)
EVENTS = (
    ("Battle of %s", "%s Battle"),
    ("%s Uprising", "Uprising at %s"),
    ("Treaty of %s", "%s Treaty"),
    ("%s Conference", "Conference of %s"),
    ("Siege of %s", "%s Siege"),
    ("%s Expedition", "Expedition to %s"),
)
COMPANIES = (
    ("%s Corporation", "%s Corp."),
    ("Bank of %s", "%s Bank"),
    ("%s Shipbuilding Company", "%s Shipyard"),
    ("%s Press", "Press of %s"),
    ("%s Railway", "Railway Company of %s"),
    ("%s AG", "%s Aktiengesellschaft"),
)
LAWS = (
    ("%s Prize", "Prize of %s"),
    ("%s Convention", "Convention of %s"),
    ("%s Doctrine", "Doctrine of %s"),
    ("%s Medal", "Medal of %s"),
)
THINGS = (
    ("HMS %s", "%s (Royal Navy)"),
    ("%s telescope", "Telescope of %s"),
    ("SS %s", "Steamship %s"),
    ("%s++", "%s plus plus"),
)
PLACES = (
    "Lake %s",
    "Mount %s",
    "Port %s",
    "New %s",
    "%s Falls",
    "%s Island",
    "San %s",
    "Upper %s",
    "Cape %s",
    "%s Bay",
)

# Qualifier -> type, and another name of what is so qualified.
QUALIFIERS: tuple[tuple[str, str, str], ...] = (
    ("river", "place", "River %s"),
    ("city", "place", "City of %s"),
    ("film", "work", "%s, the film"),
    ("novel", "work", "%s: A Novel"),
    ("band", "company", "The %s Band"),
    ("ship", "thing", "MV %s"),
    ("composer", "person", "Maestro %s"),
    ("crater", "place", "%s Crater"),
    ("genus", "thing", "Genus %s"),
    ("opera", "work", "%s: An Opera"),
    ("footballer", "person", "%s the footballer"),
    ("mountain", "place", "%s Peak"),
)

GENERIC = (
    "engineer government physics economy education mathematician politician army trade agriculture "
    "architecture religion "
    "philosophy language music literature river mountain climate population culture family "
    "marriage law democracy industry "
    "technology science chemistry biology medicine astronomy journalism publishing railway steam "
    "harbour novel poem painting "
    "sculpture theatre cinema symphony composer botanist explorer historian teacher professor "
    "student university museum library "
    "hospital parliament monarchy republic empire colony war peace treaty rebellion revolution "
    "earthquake flood famine epidemic "
    "vaccine telescope microscope computer software algorithm electricity magnetism steel copper "
    "timber cotton wool wheat tea"
).split()
GENERIC += [
    "civil engineering",
    "public health",
    "foreign policy",
    "19th century",
    "20th century",
    "early modern period",
    "natural history",
    "higher education",
    "radio astronomy",
    "1 May",
    "24 December",
    "the 1920s",
    "social reform",
    "labour movement",
    "oil painting",
]
LOOPS = (
    "History of %s",
    "%s's legacy",
    "Part of %s",
    "%s in popular culture",
    "Life of %s",
    "%s",
    "Legacy of %s",
    "%s's influence",
)

HEADINGS: dict[str, list[str]] = {
    "person": (
        "Early life|Education and training|First works|Years abroad|Public career|Major "
        "works|Correspondence|Later years|Honours|"
        "Pupils and circle|Reception|Death and estate|Family|Travels"
    ).split("|"),
    "place": (
        "Geography|Early settlement|Growth and trade|Districts|Government and "
        "administration|Landmarks|Transport|Notable people|"
        "Economy today|Festivals|Wars and sieges|Architecture|Climate and water"
    ).split("|"),
}
OTHER_HEADINGS = (
    "Background|Origins and founding|Organization|Key figures|Course and development|Principal "
    "works|Partners and rivals|"
    "Crisis and reform|Reception|Places and sites|Influence abroad|Later "
    "developments|Assessment|Collections and records"
).split("|")
# Headings that only models with a mind of their own use.
MORE_HEADINGS = (
    "At a glance|First mentions|Where it began|How it is put together|People behind it|Turning "
    "points|What it led to|Neighbours|"
    "Names and spellings|In numbers|Disputed points|Around the same time|Lasting marks|Doubts and "
    "corrections|Further afield"
).split("|")
