"""A session of redis-py with a server: python3 session.py HOST PORT [PASSWORD]."""

import sys
import time

import redis


def equal(got, want):
    if got != want:
        raise AssertionError(f"got {got!r}, want {want!r}")


def raises(text, call, *arguments):
    try:
        call(*arguments)
    except redis.RedisError as error:
        if text not in str(error):
            raise
    else:
        raise AssertionError(f"no error with {text!r}")


def strings(client):
    equal(client.set("a", 1), True)
    equal(client.incrby("a", 41), 42)
    equal(client.get("a"), b"42")
    equal(client.get("none"), None)
    equal(client.mset({"b": "1", "c": "2"}), True)
    equal(client.mget("b", "none", "c"), [b"1", None, b"2"])
    equal(client.set("a", "x", nx=True), None)
    equal(client.set("a", "x", ex=100, get=True), b"42")
    equal(client.ttl("a"), 100)
    equal(client.append("b", "23"), 3)
    equal(client.getrange("b", 1, 2), b"23")
    equal(client.incrbyfloat("f", 0.1), 0.1)
    binary = bytes(range(256)) * 500
    equal(client.set("binary", binary), True)
    equal(client.get("binary"), binary)
    raises("value is not an integer", client.incr, "binary")
    pipeline = client.pipeline(transaction=False)
    for i in range(200):
        pipeline.set(f"p{i}", i).get(f"p{i}")
    equal(pipeline.execute()[1::2], [str(i).encode() for i in range(200)])


def keys(client):
    equal(client.flushall(), True)
    wanted = {f"key:{i}".encode() for i in range(300)}
    for key in wanted:
        client.set(key, "x")
    equal(client.dbsize(), 300)
    equal(set(client.scan_iter(match="key:*", count=50)), wanted)
    equal(set(client.keys("key:1?")), {f"key:1{i}".encode() for i in range(10)})
    equal(client.delete("key:1", "key:2", "none"), 2)
    equal(client.exists("key:1", "key:3"), 1)
    equal(client.type("key:3"), b"string")
    equal(client.psetex("gone", 5, "x"), True)
    time.sleep(0.02)
    equal(client.exists("gone"), 0)


def server(client):
    equal(client.ping(), True)
    equal(client.client_getname(), "session")
    equal(client.config_get("save"), {"save": ""})
    equal(client.config_set("sg-get", "no"), True)
    equal(client.config_get("sg-get"), {"sg-get": "no"})
    raises("can't set immutable config", client.config_set, "databases", 5)
    information = client.info()
    equal(information["redis_version"].split(".")[0], "7")
    equal("pyrope_version" in information, True)
    equal("connected_clients" in information, True)
    equal(client.info("keyspace")["db0"]["keys"] > 0, True)
    equal(client.command()["get"]["first_key_pos"], 1)
    equal(client.command_count() > 40, True)
    equal("session" in [line["name"] for line in client.client_list()], True)
    equal(abs(client.time()[0] - time.time()) < 60, True)


def main():
    host, port, password = sys.argv[1:4]
    client = redis.Redis(host=host, port=int(port), password=password or None, client_name="session")
    strings(client)
    keys(client)
    server(client)
    if password:
        raises("Authentication required", redis.Redis(host=host, port=int(port)).get, "a")
        raises("invalid username-password pair", redis.Redis(host=host, port=int(port), password="wrong").get, "a")


main()
