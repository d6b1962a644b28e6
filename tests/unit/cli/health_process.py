"""A real process that serves grpc.health.v1 on an address: `health_process.py ADDRESS [seconds until ready]`."""

from __future__ import annotations

import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc


def main() -> None:
    address, delay = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
    servicer = health.HealthServicer()
    servicer.set("", health_pb2.HealthCheckResponse.NOT_SERVING)
    server = grpc.server(ThreadPoolExecutor(2))
    health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
    server.add_insecure_port(address)
    server.start()
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    time.sleep(delay)
    servicer.set("", health_pb2.HealthCheckResponse.SERVING)
    # Not one long wait: a signal that another thread takes would not end it.
    while not ended.wait(0.1):
        continue
    server.stop(0).wait()
    sys.stdout.write("ended in order\n")


if __name__ == "__main__":
    main()
