"""Variables that look like settings and are none."""

from __future__ import annotations

from remembrancer.runtime.variables import strange

KNOWN = {"REMEMBRANCER_MAX_IN_FLIGHT", "REMEMBRANCER_THREADS"}


def test_a_slip_of_the_pen_is_named_with_what_was_meant() -> None:
    assert strange(["REMEMBRANCER_MAX_INFLIGHT", "PATH", "REMEMBRANCER_THREADS", "REMEMBRANCER_ZZZ"], KNOWN) == [
        "REMEMBRANCER_MAX_INFLIGHT is not a setting and changes nothing; did you mean REMEMBRANCER_MAX_IN_FLIGHT?",
        "REMEMBRANCER_ZZZ is not a setting and changes nothing",
    ]


def test_g17_what_kubernetes_injects_is_passed_over() -> None:
    injected = (
        *("PORT", "SERVICE_HOST", "SERVICE_PORT_GRPC", "PORT_50051_TCP_ADDR"),
        *("GATEWAY_PORT", "GATEWAY_SERVICE_PORT"),
    )
    assert strange([f"REMEMBRANCER_{name}" for name in injected], KNOWN) == []
