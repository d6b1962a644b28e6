"""Which model serves on this machine, and by what names models go in a data folder."""

from __future__ import annotations

import contextlib
import json

import grpc
from pydantic import SecretStr

from remembrancer.cli.local.folder import DataFolder
from remembrancer.internal.v1 import encoder_pb2, encoder_pb2_grpc
from remembrancer.runtime.channels import open_channel


async def served_model(address: str, token: SecretStr) -> str:
    """Return the id of the model of the encoder at an address; "" when it does not answer."""
    async with open_channel(address, token) as channel:
        stub = encoder_pb2_grpc.EncoderServiceStub(channel)
        try:
            return str((await stub.GetModel(encoder_pb2.GetModelRequest(), timeout=1.0)).model_id)
        except grpc.aio.AioRpcError:
            return ""


def model_names(folder: DataFolder) -> dict[str, str]:
    """Return the names or folders of models by their ids; empty before the first reindexing."""
    with contextlib.suppress(FileNotFoundError, ValueError):
        return dict(json.loads(folder.models.read_text()))
    return {}
