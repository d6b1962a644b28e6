"""`python -m bench.fit_probable_answer`: fits the probable answer on the project's own conversations.

Starts the five processes, asks the questions through the public API, fits, and writes the coefficients beside the
model's code, with what they were fitted on and how well they do on conversations that were held out.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import redis
import typer
from rich.console import Console

from bench.answer_examples import Example, collect
from bench.calibration import expected_calibration_error
from bench.conditional_logit import Design, choices, fit_choice, fit_sureness
from bench.dataset import EVALUATION, load
from remembrancer.cli.local.service import LocalService
from remembrancer.client import Client
from remembrancer.model import probable_answer_coefficients
from remembrancer.model.probable_answer import sureness_features
from remembrancer.model.probable_answer_coefficients import SURENESS_FEATURES, VERSION
from remembrancer.model.probable_answer_features import HIT_FEATURES, LIST_FEATURES, Values
from remembrancer.store.keys import CURRENT_MODEL

OUT: Final = Path(probable_answer_coefficients.__file__).parent / probable_answer_coefficients.FILE

THRESHOLD: Final = 0.1
"""Below, no memory is said to answer: the one named would be wrong nine times of ten."""

DIGITS: Final = 4
HELD_OUT: Final = ("whole", "without", "beside", "beside_without")


def fit(out: Annotated[Path, typer.Option(help="File to write.")] = OUT) -> None:
    """Fit the coefficients of the probable answer and write them with their provenance."""
    console = Console()
    conversations = load(EVALUATION)
    with tempfile.TemporaryDirectory(prefix="remembrancer-fit-") as folder, LocalService(Path(folder)) as service:
        with Client.connect(service.address) as client:
            examples = collect(client, conversations, console.print)
        with redis.Redis.from_url(service.plan.store_url) as store:
            model = store.get(CURRENT_MODEL)
    fitted = fitted_on(examples)
    fitted["provenance"] = {
        "made_by": "python -m bench.fit_probable_answer",
        "on": datetime.now(UTC).date().isoformat(),
        "data": "bench/evaluation",
        "sha256": digest(EVALUATION),
        "encoder": model.decode() if isinstance(model, bytes) else "unknown",
        **fitted["provenance"],
    }
    out.write_text(json.dumps(fitted, indent=2) + "\n", encoding="utf-8")
    console.print_json(data=fitted)


def fitted_on(examples: Sequence[Example]) -> dict[str, Any]:
    """Return the content of the coefficients' file.

    How sure a choice is gets fitted on choices of models that had not seen the conversation; the figures in the
    provenance are of conversations that neither part had seen.
    """
    design = Design.of(examples)
    conversation = np.array([example.conversation for example in examples])
    kind = np.array([example.kind for example in examples])
    unseen = _held_out(design, conversation)
    hits, none = fit_choice(design)
    sureness = fit_sureness(design, unseen)
    probabilities = np.zeros(len(examples))
    for one in np.unique(conversation):
        out = conversation == one
        weights = fit_sureness(design.part(~out), [c for c, o in zip(unseen, out, strict=True) if not o])
        for i in map(int, np.flatnonzero(out)):
            shares, best, _ = unseen[i]
            probabilities[i] = 1 / (1 + np.exp(-sureness_features(design.seen[i], shares, best) @ weights))
    events = np.array([right for _, _, right in unseen], float)
    judged = np.isin(kind, HELD_OUT) & (probabilities >= THRESHOLD)
    rate = events[judged].mean()
    return {
        "version": VERSION,
        "hits": _named(HIT_FEATURES, hits),
        "none": _named(LIST_FEATURES, none),
        "sureness": _named(SURENESS_FEATURES, sureness),
        "threshold": THRESHOLD,
        "provenance": {
            "examples": len(examples),
            "held_out": {
                "by": "conversation",
                "brier": round(float(np.mean((probabilities - events)[judged] ** 2)), DIGITS),
                "base_brier": round(float(rate * (1 - rate)), DIGITS),
                "ece": round(expected_calibration_error(probabilities[judged], events[judged]), DIGITS),
                "off_topic_refused": round(float((probabilities[kind == "elsewhere"] < THRESHOLD).mean()), DIGITS),
            },
        },
    }


def digest(folder: Path) -> str:
    """Return the SHA-256 of the conversations of a folder, in the order of their names."""
    found = hashlib.sha256()
    for file in sorted(folder.glob("*.json")):
        found.update(file.read_bytes())
    return found.hexdigest()


def _held_out(design: Design, conversation: np.ndarray) -> list[tuple[Values, int, bool]]:
    """Return the choice for each example by a model that has not seen its conversation."""
    found: dict[int, tuple[Values, int, bool]] = {}
    for one in np.unique(conversation):
        out = conversation == one
        hits, none = fit_choice(design.part(~out))
        found.update(zip(map(int, np.flatnonzero(out)), choices(design.part(out), hits, none), strict=True))
    return [found[i] for i in range(len(conversation))]


def _named(names: Sequence[str], weights: Values) -> dict[str, float]:
    return {name: round(float(weight), DIGITS) for name, weight in zip(names, weights, strict=True)}


if __name__ == "__main__":
    typer.run(fit)
