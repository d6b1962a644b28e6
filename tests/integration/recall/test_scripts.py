"""Scripts that the model never learnt: matched by words, told apart, silent about what they do not hold."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from remembrancer.cli.local.plan import Role
from remembrancer.client import Client, memory, tenant
from remembrancer.model.fusion import RELEVANCE_FLOOR
from remembrancer.v1 import common_pb2, recall_pb2
from tests.service import ACTIVE, DEEP, Outage, contents, found_by, hits, unreadable


@dataclass(frozen=True)
class Script:
    """Facts in one script, a question that the first of them answers, and one about something else."""

    facts: tuple[str, ...]
    question: str
    off_topic: str


SCRIPTS = {
    "thai": Script(
        (
            "แมวของฉันชื่อพิกเซล",
            "เราปล่อยงานทุกวันศุกร์",
            "ใบแจ้งหนี้ชำระแล้วในเดือนมีนาคม",
            "เธอเล่นไวโอลิน",
            "เซิร์ฟเวอร์ทำงานในแฟรงก์เฟิร์ต",
        ),
        "แมวชื่ออะไร",
        "ภูเขาไฟเกิดขึ้นได้อย่างไร",
    ),
    "amharic": Script(
        ("የድመቴ ስም ፒክስል ነው", "አርብ እንለቃለን", "ደረሰኙ በመጋቢት ተከፈለ", "እሷ ቫዮሊን ትጫወታለች", "አገልጋዩ በፍራንክፈርት ይሠራል"),
        "የድመቴ ስም ማን ነው?",
        "እሳተ ገሞራ እንዴት ይፈጠራል?",
    ),
    "russian": Script(
        (
            "Мою кошку зовут Пиксель",
            "Мы выкатываем релиз по пятницам",
            "Счёт был оплачен в марте",
            "Она играет на скрипке",
            "Сервер стоит во Франкфурте",
        ),
        "Как зовут кошку?",
        "Почему извергаются вулканы?",
    ),
    "arabic": Script(
        (
            "قطتي اسمها بيكسل",
            "ننشر كل يوم جمعة",
            "تم دفع الفاتورة في مارس",
            "هي تعزف على الكمان",
            "الخادم يعمل في فرانكفورت",
        ),
        "ما هو اسم قطتي؟",
        "كيف تتشكل البراكين؟",
    ),
    "chinese": Script(
        ("我的猫叫像素", "我们星期五部署", "发票在三月付清了", "她拉小提琴", "服务器在法兰克福运行"),
        "我的猫叫什么？",
        "火山是怎么形成的？",
    ),
    "korean": Script(
        (
            "내 고양이 이름은 픽셀이야",
            "우리는 금요일에 배포한다",
            "송장은 삼월에 지불되었다",
            "그녀는 바이올린을 연주한다",
            "서버는 프랑크푸르트에서 돌아간다",
        ),
        "고양이 이름이 뭐야?",
        "화산은 어떻게 생기나요?",
    ),
    "emoji": Script(("🐈🟦", "🚀📅", "🧾✅", "🎻👩", "🖥️📍"), "🐈", "🌋"),
}

ENGLISH = ["The landlord has a spare key.", "Deployments are frozen in December.", "The parrot eats walnuts."]


@pytest.fixture(scope="module")
def everything(client: Client) -> common_pb2.Scope:
    """A scope with the facts of all scripts, and English ones."""
    shelf = tenant("all-scripts")
    texts = [*ENGLISH, *(fact for script in SCRIPTS.values() for fact in script.facts)]
    written = client.remember([memory("fact", text) for text in texts], scope=shelf)
    assert all(result.embedded for result in written.results)
    assert [warning.code for warning in written.warnings] == [common_pb2.WARNING_CODE_UNREADABLE_TEXT]
    return shelf


@pytest.mark.parametrize("name", SCRIPTS)
@pytest.mark.parametrize("mode", ["active", "deep"])
def test_d6_s32_words_find_the_fact_and_off_topic_questions_score_low(
    client: Client, everything: common_pb2.Scope, name: str, mode: str
) -> None:
    script = SCRIPTS[name]
    answer = client.recall(script.question, scope=everything, mode=mode)
    assert contents(answer)[0] == script.facts[0]
    assert found_by(answer, script.facts[0]) == ({ACTIVE, DEEP} if mode == "deep" else {ACTIVE})
    answered = hits(answer)[0].relevance
    for query in (script.off_topic, *ENGLISH[:1], "How do volcanoes form?"):
        off_topic = client.recall(query, scope=everything, mode=mode)
        others = [hit.relevance for hit in hits(off_topic) if hit.content not in ENGLISH]
        assert all(relevance < min(RELEVANCE_FLOOR, answered) for relevance in others), query


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_query_that_cannot_be_read_is_answered_with_a_warning_and_no_tier_error(
    client: Client, everything: common_pb2.Scope, name: str
) -> None:
    answer = client.recall(SCRIPTS[name].question, scope=everything, mode="deep", require_tiers=["active", "deep"])
    assert unreadable(answer)
    assert not answer.HasField("active_tier_error")
    assert not answer.HasField("deep_tier_error")
    assert not unreadable(client.recall("Which key is there?", scope=everything))


@pytest.mark.parametrize("name", SCRIPTS)
def test_d21_different_facts_in_one_script_are_no_copies_of_each_other(client: Client, scope: str, name: str) -> None:
    facts, shelf = SCRIPTS[name].facts, tenant(scope)
    client.remember([memory("fact", f"{fact} 77") for fact in facts], scope=shelf)
    client.remember([memory("fact", f"{text} 77") for text in ENGLISH], scope=shelf)
    assert set(contents(client.recall(f"{facts[0]} 77", scope=shelf, top_k=5))) >= {f"{fact} 77" for fact in facts[:1]}
    found = contents(client.recall("77", scope=shelf, top_k=8))
    assert len(found) == len(facts) + len(ENGLISH)


def test_identical_text_is_about_one_in_every_script(client: Client, everything: common_pb2.Scope) -> None:
    for script in SCRIPTS.values():
        best = hits(client.recall(script.facts[1], scope=everything))[0]
        assert (best.content, best.relevance > 0.95) == (script.facts[1], True)


def test_what_cannot_be_read_waits_for_no_encoder(client: Client, scope: str, killed: Outage) -> None:
    shelf = tenant(scope)
    with killed(Role.ENCODER):
        written = client.remember([memory("fact", fact) for fact in SCRIPTS["thai"].facts], scope=shelf)
        assert not any(result.embedded for result in written.results)
        assert client.get_scope(scope=shelf).unembedded == len(written.results)
    end = time.monotonic() + 30
    while client.get_scope(scope=shelf).unembedded and time.monotonic() < end:
        time.sleep(0.2)
    assert client.get_scope(scope=shelf).unembedded == 0
    assert contents(client.recall(SCRIPTS["thai"].question, scope=shelf))[0] == SCRIPTS["thai"].facts[0]


def test_the_merged_recall_says_so_too(client: Client, everything: common_pb2.Scope) -> None:
    answer = client.recall_with_context(SCRIPTS["russian"].question, scope=everything, agent_id="default-agent")
    assert isinstance(answer, recall_pb2.RecallWithContextResponse)
    assert common_pb2.WARNING_CODE_UNREADABLE_TEXT in {warning.code for warning in answer.warnings}
    assert answer.degraded_advisory == ""
    assert answer.messages[0].content == SCRIPTS["russian"].facts[0]


@pytest.mark.parametrize(
    ("written", "plain", "unrelated"),
    [
        ("הַשָּׁלוֹם בָּא", "השלום", "מַחְשֵׁב לָבָן"),
        ("هٰذَا كِتَابٌ", "كتاب", "سَيَّارَةٌ بَيْضَاءُ"),
        ("Хороший Пере\u00adвод книги", "перевод", "за\u0301мок на горе"),
        ("Η κα\ufeffλημέρα μας", "καλημέρα", "το καρά\u00adβι"),
    ],
)
def test_t30_a_word_is_found_by_its_plain_spelling(
    client: Client, scope: str, written: str, plain: str, unrelated: str
) -> None:
    org = tenant(scope)
    client.remember([memory("fact", text) for text in (written, unrelated)], scope=org)
    answer = client.recall(plain, scope=org)
    by_text = {hit.content: hit.relevance for hit in hits(answer)}
    assert by_text.get(written, 0.0) >= RELEVANCE_FLOOR
    assert by_text.get(unrelated, 0.0) < 0.1
