"""What webhooks are sent is signed as the specification has it."""

from __future__ import annotations

import base64

from daemon.webhooks.sender import PREFIX, new_secret, signature


def test_a_signature_is_the_one_of_the_published_example() -> None:
    # The reference vector that the libraries of Standard Webhooks are tested with.
    secret, message_id, stamp = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330
    expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert signature(secret, message_id, stamp, b'{"test": 2432232314}') == expected


def test_no_two_secrets_are_alike_and_each_has_the_form_of_the_specification() -> None:
    made = {new_secret() for _ in range(100)}
    assert len(made) == 100
    assert all(one.startswith(PREFIX) for one in made)
    assert {len(base64.b64decode(one.removeprefix(PREFIX), validate=True)) for one in made} == {32}
