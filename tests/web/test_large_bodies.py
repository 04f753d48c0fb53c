"""Bodies that are large, compressed or of a caller without a token: none holds up the others."""

from __future__ import annotations

import gc
import gzip
import json
import zlib

import pytest

from daemon.settings import Settings
from daemon.web.incoming import AUTH_BYTES_MAX, INCOMING_BODIES
from tests.effort import Effort
from tests.load.pump import wire
from tests.web.support import House, Person, assert_problem
from tests.web.test_connections import HALF_BODY, HALF_START, HEALTH, code_of, entrance, register, until

MIB = 1024 * 1024
STEPS_MAX = 80_000
"""Of a request; fewer than a body of 1 MiB has members."""


def filled(piece: bytes, size: int = MIB) -> bytes:
    """A request for a run with a member that it does not have, and a list of pieces in it."""
    begin, end = b'{"vertical":"quick","spare":[', b"]}"
    return begin + b",".join([piece] * ((size - len(begin) - len(end)) // (len(piece) + 1))) + end


SHAPES = {
    "numbers": filled(b"1"),
    "objects": filled(b'{"a":1}'),
    "members with colons": filled(b'{":":":"}'),
    "unknown members": json.dumps({"vertical": "quick", **{f"{number:x}": 1 for number in range(80_000)}}).encode(),
}


@pytest.mark.parametrize("body", SHAPES.values(), ids=SHAPES.keys())
async def test_a_large_body_is_read_beside_the_event_loop(settings: Settings, body: bytes) -> None:
    async with entrance(settings) as here:
        bearer = {"Authorization": f"Bearer {await register(here, 'sender')}"}
        line = await here.line()
        with Effort() as effort:
            (answer,) = await line.ask(wire("POST", "/process-runs/", body, bearer))
        assert code_of(answer) == (422, "invalid")
        assert effort.calls("Decoder.decode") == 0
        assert effort.calls("decompress") == 0
        assert effort.steps < STEPS_MAX


async def test_a_refused_body_is_not_kept_until_garbage_is_collected(settings: Settings) -> None:
    async with entrance(settings) as here:
        bearer = {"Authorization": f"Bearer {await register(here, 'sender')}"}
        line, many = await here.line(), list[object]([[] for _ in range(5_000)])
        refused = json.dumps({"vertical": "prior-auth", "inputs": {"member_id": many}}).encode()
        gc.collect()
        gc.disable()
        try:
            (answer,) = await line.ask(wire("POST", "/process-runs/", refused, bearer))
            assert code_of(answer) == (422, "invalid")
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
            kept = [len(one) for one in gc.garbage if isinstance(one, list) and len(one) > 1_000]
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
        assert kept == []


def bomb(mib: int) -> bytes:
    """A few bytes of raw deflate for each 1,000 that they stand for, made without making those."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    block = packer.compress(b" " * MIB) + packer.flush(zlib.Z_FULL_FLUSH)
    return block * mib + zlib.compressobj(wbits=-zlib.MAX_WBITS).flush()


async def test_a_bomb_is_not_inflated_while_the_rest_of_it_is_dropped(settings: Settings) -> None:
    async with entrance(settings) as here:
        bearer = {"Authorization": f"Bearer {await register(here, 'sender')}", "Content-Encoding": "deflate"}
        line = await here.line()
        requests = wire("POST", "/process-runs/", bomb(900), bearer), HEALTH
        with Effort() as effort:
            assert [answer.status for answer in await line.ask(*requests)] == [413, 200]
        assert effort.calls("Decoder.decode") == 0
        assert effort.calls("decompress") == 0
        assert effort.steps < STEPS_MAX


async def test_what_inflates_to_a_hundred_times_its_size_is_413(ann: Person) -> None:
    """Beyond 64 KiB, and however much a body may have."""
    small, large = (
        gzip.compress(json.dumps({"vertical": "quick", "inputs": {"a": "x" * size}}).encode())
        for size in (60_000, 900_000)
    )
    assert (await ann.send("POST", "/process-runs/", data=small, Content_Encoding="gzip")).status == 201
    refused = await ann.send("POST", "/process-runs/", data=large, Content_Encoding="gzip")
    assert_problem(refused, 413, "too_large", limit=100 * len(large))


@pytest.mark.parametrize("path", ["/auth/login", "/auth/register", "/auth/logout"])
async def test_what_anybody_may_send_is_16_kib_at_most(house: House, ann: Person, path: str) -> None:
    for body, head in ((b" " * (AUTH_BYTES_MAX + 1), {}), (gzip.compress(b"[" * MIB), {"Content-Encoding": "gzip"})):
        answer = await house.send("POST", path, data=body, headers={**ann.bearer, **head})
        assert_problem(answer, 413, "too_large", limit=AUTH_BYTES_MAX)


async def test_a_body_of_16_kib_is_read_before_a_log_in(house: House, ann: Person) -> None:
    body = json.dumps({"email": ann.email, "password": "correct horse"}).encode().ljust(AUTH_BYTES_MAX)
    assert (await house.send("POST", "/auth/login", data=body)).status == 200


async def test_too_large_a_body_without_a_token_is_refused_before_it_arrives(settings: Settings) -> None:
    head = b"POST /auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 16385\r\n\r\n"
    async with entrance(settings) as here:
        assert code_of(await (await here.line(head)).read()) == (413, "too_large")


async def test_the_values_of_a_large_body_take_room_until_it_is_answered(settings: Settings) -> None:
    async with entrance(settings) as here:
        bearer = {"Authorization": f"Bearer {await register(here, 'sender')}"}
        room = here.server.runner.app[INCOMING_BODIES].companies
        line = await here.line(wire("POST", "/process-runs/", SHAPES["objects"], bearer))
        await until(lambda: room.free < 60_000_000)
        assert code_of(await line.read()) == (422, "invalid")
        await until(lambda: room.is_empty)


async def test_a_company_that_sends_too_much_at_once_is_429_and_others_are_served(settings: Settings) -> None:
    async with entrance(settings, company_body_bytes_max=2 * MIB) as here:
        one, other = await register(here, "one"), await register(here, "other")
        room = here.server.runner.app[INCOMING_BODIES].companies
        half = HALF_START + b" " * 900_000
        begun = [await here.line(half % one.encode()) for _ in range(2)]
        await until(lambda: room.free < 64 * MIB - 1_800_000)
        answer = await (await here.line(half % one.encode())).read()
        assert (code_of(answer), answer.json["limit"]) == ((429, "quota_exceeded"), 2 * MIB)
        assert answer.json["budget"] == "company_body_bytes"
        for line in (begun[0], await here.line(half % other.encode())):
            line.writer.write(b" " * 99_999)
            assert code_of(await line.read()) == (400, "malformed_json")


async def test_a_network_that_sends_too_much_without_a_token_is_429(settings: Settings) -> None:
    part = HALF_BODY.replace(b"100", b"16000") + b" " * 15_000
    async with entrance(settings, network_body_bytes_max=20_000) as here:
        room = here.server.runner.app[INCOMING_BODIES].strangers
        await here.line(part)
        await until(lambda: not room.is_empty)
        answer = await (await here.line(part)).read()
        assert (code_of(answer), answer.json["limit"]) == ((429, "quota_exceeded"), 20_000)
