"""`remembrancer reindex`, for the service on this machine and, with --encoder, for one in containers."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Final, NoReturn

import grpc
import typer
from pydantic import SecretStr
from redis.exceptions import RedisError

from remembrancer.cli import exits
from remembrancer.cli.hints import not_running
from remembrancer.cli.local.folder import DataFolder, default_data_folder
from remembrancer.cli.local.plan import Role
from remembrancer.cli.local.readiness import is_ready
from remembrancer.cli.local.state import State, read_state
from remembrancer.cli.output import bar, print_json
from remembrancer.cli.reindex.next_encoder import named, next_encoder
from remembrancer.cli.reindex.serving import model_names, served_model
from remembrancer.model.errors import RemembrancerError
from remembrancer.reindex.embedding import ReindexRefused
from remembrancer.reindex.walk import Reindexed, Steps, reindex
from remembrancer.runtime.channels import open_channel
from remembrancer.runtime.settings import ProcessSettings, load
from remembrancer.store.connection import opened

RESTART_SECONDS: Final = 60.0
"""How long the service's encoder may take to come back with the new model."""

POLL_SECONDS: Final = 0.1

CONTAINERS_SECONDS: Final = 3.0
"""Left to calls under way with the former model's vectors before these go."""


class ReindexSettings(ProcessSettings):
    """Settings of a reindexing in containers; it listens nowhere."""

    listen: str = "127.0.0.1:0"
    ops_listen: str = "127.0.0.1:0"


def reindex_command(
    model: Annotated[
        str | None, typer.Option(help="The new encoder: a known name, or a folder with model.onnx and tokenizer.json.")
    ] = None,
    encoder: Annotated[
        str | None,
        typer.Option(
            help="host:port of an encoder that runs with REMEMBRANCER_NEXT=true, instead of --model; the store is then "
            "the one of REMEMBRANCER_STORE_URL."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, and no progress bar.")] = False,
    data: Annotated[Path | None, typer.Option("--data", help="Data folder of the service here.")] = None,
) -> None:
    """Have a new encoder model serve: its vectors are filled in while the old one serves. Can be repeated any time."""
    if model is None and encoder is None:
        raise typer.BadParameter("name a --model, or an --encoder")
    if model is not None and encoder is not None:
        raise typer.BadParameter("name only one of: a --model, an --encoder")
    try:
        if encoder is not None:
            done = _in_containers(encoder, silent=as_json)
        else:
            done = _here(DataFolder.named(data or default_data_folder()), named(model or ""), silent=as_json)
    except grpc.aio.AioRpcError as error:
        _fail(f"the next encoder failed ({error.code().name}); the same command again goes on")
    except (RemembrancerError, RedisError, OSError) as error:
        _fail(f"the store failed ({type(error).__name__}); the same command again goes on")
    except ReindexRefused as error:
        _fail(str(error))
    if as_json:
        print_json(dataclasses.asdict(done))
    else:
        print(f"{done.model_id} serves; {done.embedded} records embedded in {done.seconds:.0f} s")
        if done.skipped:
            print(f"{done.skipped} of them could not be embedded; words alone find these", file=sys.stderr)


def _here(folder: DataFolder, model: str, *, silent: bool) -> Reindexed:
    state = read_state(folder)
    if state is None or not state.alive():
        print(not_running(folder), file=sys.stderr)
        raise typer.Exit(exits.NOT_RUNNING)
    store_url = state.roles[Role.STORE].probe
    token = SecretStr(folder.secret("worker-token"))

    def keep_name(model_id: str) -> None:
        # Before the model serves: whenever the encoder starts, it finds the one that does.
        folder.private_file(folder.models, json.dumps({**model_names(folder), model_id: model}))

    async def restarted(model_id: str) -> None:
        keep_name(model_id)
        await _until_served(state, token, model_id)
        folder.private_file(folder.models, json.dumps({model_id: model}))

    with next_encoder(folder, store_url, model) as address:
        return asyncio.run(_run(store_url, address, token, keep_name, restarted, cluster=False, silent=silent))


def _in_containers(encoder: str, *, silent: bool) -> Reindexed:
    settings = load(ReindexSettings)

    async def wait(_: str) -> None:
        await asyncio.sleep(CONTAINERS_SECONDS)

    return asyncio.run(
        _run(
            settings.store_url,
            encoder,
            settings.worker_token,
            lambda _: None,
            wait,
            cluster=settings.store_cluster,
            silent=silent,
        )
    )


async def _run(
    store_url: str,
    encoder: str,
    token: SecretStr | None,
    before_flip: Callable[[str], None],
    after_flip: Callable[[str], Awaitable[None]],
    *,
    cluster: bool,
    silent: bool,
) -> Reindexed:
    async with opened(store_url, cluster=cluster) as redis, open_channel(encoder, token) as channel:
        with bar("embedding", silent=silent) as progress:
            task = progress.add_task("", total=None)
            steps = Steps(
                before_flip,
                after_flip,
                lambda total: progress.update(task, total=total),
                lambda records: progress.advance(task, records),
            )
            return await reindex(redis, channel, steps)


async def _until_served(state: State, token: SecretStr, model_id: str) -> None:
    """Wait until the service's encoder, which ends by itself once its model does not serve, has the new one."""
    role = state.roles[Role.ENCODER]
    deadline = time.monotonic() + RESTART_SECONDS
    while not (is_ready(role.probe) and await served_model(role.address, token) == model_id):
        if time.monotonic() > deadline:
            raise ReindexRefused("the new model serves, but the encoder does not come back with it; see its log")
        await asyncio.sleep(POLL_SECONDS)


def _fail(line: str) -> NoReturn:
    print(line, file=sys.stderr)
    raise typer.Exit(exits.FAILED)
