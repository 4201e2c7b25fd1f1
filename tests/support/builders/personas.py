"""Runs of personas on topics, with given texts."""

from pathlib import Path

from tests.support.builders.runs import Child, Corpus, Visit, make_config

PERSONAS = ("conservative", "left_leaning", "scientific_neutral")
PRIMARY = ("Dutch Colonization in Southeast Asia", "US Civil Rights Movement", "Ancient Babylon")
MODELS = ("gpt", "llama", "qwen")


def persona_run(
    folder: Path, model: str, topic: str, persona: str, texts: dict[str, str], waves: int = 1, **section
):
    """A run with an article on each subject, over ``waves`` commits; the seed is no other
    persona's.
    """
    run = {"mode": "topic", "root_topic": topic, "persona": persona, **section}
    corpus = Corpus(folder, make_config(run=run, engine={"model": model})).seed(f"Of {persona}")
    corpus.walk(Visit(f"Of {persona}", [Child(name) for name in texts]))
    names = list(texts)
    for part in (names[start::waves] for start in range(waves)):
        corpus.walk(*(Visit(name) for name in part), damage=lambda rows: _write(rows, texts))
    return corpus.run


def _write(rows, texts) -> None:
    for article in rows["articles"]:
        article["wikitext"] = texts[article["name"]]


def grid(folder: Path, text_of, models=MODELS, topics=PRIMARY, personas=PERSONAS, subjects=6, waves=1):
    """A run a model, topic and persona; ``text_of(model, topic, persona, subject)`` is its article."""
    runs = []
    for model in models:
        for topic in topics:
            for persona in personas:
                texts = {f"Subject {n}": text_of(model, topic, persona, n) for n in range(subjects)}
                runs.append(
                    persona_run(
                        folder / f"{model}-{topic}-{persona}".replace(" ", "-"),
                        model,
                        topic,
                        persona,
                        texts,
                        waves,
                    )
                )
    return runs
