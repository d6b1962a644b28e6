"""The real model, loaded in the test's process."""

import json
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remembrancer.runtime.refusal import StartRefused
from workers.encoder.model import Model, Vector
from workers.encoder.model_folder import describe


def vector(model: Model, text: str) -> Vector:
    return model.embed(model.windows(text, query=False)[0])


def cosine(model: Model, left: str, right: str) -> float:
    return float(vector(model, left).astype(np.float32) @ vector(model, right).astype(np.float32))


def test_the_id_names_model_and_weights(model: Model) -> None:
    assert (model.id, model.dimension, model.window) == ("all-MiniLM-L6-v2-int8@53aa5117", 384, 256)


# A wrong graph, pooling or tokenizer moves these far out of their bounds.
@pytest.mark.parametrize(
    ("left", "right", "lowest", "highest"),
    [
        ("The cat sits outside", "A feline is sitting outdoors", 0.55, 0.85),
        ("How do I reset my password?", "Steps to recover account access", 0.4, 0.75),
        ("A man is playing guitar", "Someone plays an instrument", 0.4, 0.8),
        ("The cat sits outside", "Quarterly revenue fell by 3 percent", -0.15, 0.2),
        ("The deployment failed on Friday", "She likes strawberries", -0.15, 0.2),
    ],
)
def test_related_sentences_are_near_and_unrelated_ones_are_not(
    model: Model, left: str, right: str, lowest: float, highest: float
) -> None:
    assert lowest < cosine(model, left, right) < highest


@pytest.mark.parametrize("text", ["[MASK]", "</s>", "<|endoftext|>", "???", "7", "a b c", "x y " * 999, "🙂 I am glad"])
def test_every_text_has_a_finite_vector_of_unit_length(model: Model, text: str) -> None:
    windows = model.windows(text, query=True)
    assert windows
    for window in windows:
        found = model.embed(window).astype(np.float32)
        assert np.isfinite(found).all()
        assert np.linalg.norm(found) == pytest.approx(1, abs=2e-3)


READ = [
    "Meine Katze heißt Pixel, wir liefern freitags aus.",
    "Con mèo của tôi tên là Pixel",
    "Wdrażamy w piątki; żółć gęślą jaźń",
    "Kedimin adı Piksel, ışıkları söndürdüm",
    "Þetta er öðruvísi",
    "Drinks tonight 🍸👩‍👩‍👧‍👦🇯🇵",
    "密钥sk-ABC123在这里",
    "5f3c9a1e-77b2-4d0e",
]
UNREAD = [
    "แมวของฉันชื่อพิกเซล",
    "የድመቴ ስም ፒክስል ነው",
    "Мою кошку зовут Пиксель",
    "قطتي اسمها بيكسل",
    "לחתול שלי קוראים פיקסל",
    "Η γάτα μου λέγεται Πίξελ",
    "मेरी बिल्ली का नाम पिक्सेल है",
    "我的猫叫像素",
    "私の猫の名前はピクセルです",
    "내 고양이 이름은 픽셀이야",
    "என் பூனையின் பெயர் பிக்சல்",
    "ჩემს კატას პიქსელი ჰქვია",
    "🚀",
    "の" * 400,
    "x" * 4000,
    "",
    "\u200b",
]


@pytest.mark.parametrize("text", READ)
def test_texts_in_latin_script_are_read(model: Model, text: str) -> None:
    assert len(model.windows(text, query=False)) == 1


@pytest.mark.parametrize("text", UNREAD)
def test_scripts_that_the_model_never_learnt_have_no_windows(model: Model, text: str) -> None:
    assert model.windows(text, query=False) == []


def test_of_a_text_in_two_scripts_the_readable_windows_are_left(model: Model) -> None:
    english, thai = "The deployment failed on Friday. " * 60, "แมวของฉันชื่อพิกเซล " * 400
    alone, both = model.windows(english, query=False), model.windows(english + thai, query=False)
    assert len(alone) - 1 <= len(both) <= len(alone) + 1


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=300))
def test_no_text_breaks_it(model: Model, text: str) -> None:
    for window in model.windows(text, query=False):
        assert len(window) <= model.window
        assert np.isfinite(model.embed(window)).all()


SPECIAL = {0, 100, 101, 102, 103}


@pytest.mark.parametrize("text", ["a [MASK] b", "[CLS]", "x [SEP] y [PAD]", "[UNK]"])
def test_special_tokens_in_a_text_are_plain_text(model: Model, text: str) -> None:
    (window,) = model.windows(text, query=False)
    assert (window[0], window[-1]) == (101, 102)
    assert not SPECIAL & set(window[1:-1])


def test_a_text_has_the_same_vector_in_any_thread_and_company(model: Model) -> None:
    texts = [f"The meeting number {i} is about {'apples ' * (i % 9)}" for i in range(60)]
    alone = [vector(model, text).tobytes() for text in texts]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda text: vector(model, text).tobytes(), texts * 3))
    assert together == alone * 3


FILLER = "We talked about the weather, the new office chairs and the lunch menu of next week. "


def test_the_end_of_a_long_text_is_found_by_a_paraphrase(model: Model) -> None:
    hidden = "The backup server burned down in the fire at the data centre."
    text = (FILLER * 400)[: 16000 - len(hidden)] + hidden
    windows = model.windows(text, query=False)
    assert len(text) == 16000
    assert 1 < len(windows) <= 32
    query = model.embed(model.windows("Which machine was destroyed by flames?", query=True)[0]).astype(np.float32)
    scores = [float(model.embed(window).astype(np.float32) @ query) for window in windows]
    assert int(np.argmax(scores)) == len(windows) - 1
    assert scores[-1] > max(scores[:-1]) + 0.1


def test_any_folder_with_a_graph_and_a_tokenizer_will_do(model: Model, folder: Path, tmp_path: Path) -> None:
    mine = tmp_path / "my-encoder"
    mine.mkdir()
    for name in ("model.onnx", "tokenizer.json"):
        shutil.copy(folder / name, mine / name)
    (mine / "config.json").write_text(json.dumps({"max_position_embeddings": 128}))
    loaded = Model(mine)
    assert loaded.id.startswith("my-encoder@")
    assert loaded.window == 128
    assert vector(loaded, "a sentence").tobytes() == vector(model, "a sentence").tobytes()


def test_prefixes_tell_queries_from_passages(folder: Path, tmp_path: Path) -> None:
    mine = tmp_path / "prefixed"
    shutil.copytree(folder, mine)
    (mine / "encoder.json").write_text(
        json.dumps({"model_id": "p@1", "window": 64, "query_prefix": "query: ", "passage_prefix": "passage: "})
    )
    loaded, plain = Model(mine), Model(folder)
    assert loaded.windows("apples", query=True) == plain.windows("query: apples", query=True)
    assert loaded.windows("apples", query=False) == plain.windows("passage: apples", query=True)
    assert all(len(w) <= 64 for w in loaded.windows("word " * 500, query=True))


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("encoder.json", "{"),
        ("encoder.json", "[]"),
        ("encoder.json", '{"window": 64}'),
        ("encoder.json", '{"model_id": "m@1", "window": "64"}'),
        ("encoder.json", '{"model_id": "m@1", "window": 64, "unrelated_cosine": 1}'),
        ("encoder.json", '{"model_id": "m@1", "window": 64, "windows": 1}'),
        ("config.json", "{"),
        ("config.json", "[]"),
        ("config.json", '{"max_position_embeddings": "many"}'),
    ],
)
def test_a_description_that_makes_no_sense_is_refused_in_one_line(tmp_path: Path, file: str, content: str) -> None:
    for name in ("model.onnx", "tokenizer.json"):
        (tmp_path / name).touch()
    (tmp_path / file).write_text(content)
    with pytest.raises(StartRefused, match=re.escape(file)) as caught:
        describe(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_folder_without_a_model_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(StartRefused, match=r"has no model\.onnx"):
        Model(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"junk")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(StartRefused, match="cannot be loaded"):
        Model(tmp_path)
