"""The ways to write a target that may not be called; `{port}` is where a canary listens."""

from __future__ import annotations

_WRITTEN = {
    "plain IPv4 addresses": """
        http://127.0.0.1:{port} http://127.0.0.1:{port}/x?y=z https://127.0.0.1:{port} HTTP://127.0.0.1:{port}
        http://127.255.255.254:{port} http://127.0.1.1:{port} http://0.0.0.0:{port} http://10.0.0.1:{port}
        http://172.16.0.1 http://172.31.255.255 http://192.168.0.1 http://169.254.0.1 http://100.64.0.1
        http://192.0.0.1 http://198.18.0.1 http://203.0.113.1 http://224.0.0.1 http://240.0.0.1 http://255.255.255.255
    """,
    "other spellings of IPv4 addresses": """
        http://2130706433:{port} http://017700000001:{port} http://0x7f000001:{port} http://0X7F000001:{port}
        http://0177.0.0.1:{port} http://0x7f.0.0.1:{port} http://0x7f.0x0.0x0.0x1:{port} http://127.1:{port}
        http://127.0.1:{port} http://127.0.0.01:{port} http://0:{port} http://00000000:{port} http://0x0:{port}
        http://0x7f.1:{port} http://4294967295:{port} http://2852039166 http://127.0.0.1.:{port} http://127.1.:{port}
        http://2130706433.:{port} http://127.0.0.0x1:{port}
    """,
    "IPv6 addresses": """
        http://[::1]:{port} http://[0:0:0:0:0:0:0:1]:{port} http://[0000::0001]:{port} http://[::]:{port}
        http://[fc00::1]:{port} http://[fd12:3456::1]:{port} http://[fe80::1]:{port} http://[fec0::1]:{port}
        http://[ff02::1]:{port} http://[2001:db8::1] http://[100::1] http://[4000::1]
    """,
    "IPv6 addresses that carry an IPv4 address": """
        http://[::ffff:127.0.0.1]:{port} http://[::ffff:7f00:1]:{port} http://[0:0:0:0:0:ffff:127.0.0.1]:{port}
        http://[::FFFF:7F00:0001]:{port} http://[::ffff:0:127.0.0.1]:{port} http://[::127.0.0.1]:{port}
        http://[::7f00:1]:{port} http://[64:ff9b::127.0.0.1]:{port} http://[64:ff9b::7f00:1]:{port}
        http://[64:ff9b:1::7f00:1]:{port} http://[2002:7f00:1::]:{port} http://[2002:7f00:1::1]:{port}
        http://[2001:0:4136:e378:8000:63bf:80ff:fffe]:{port} http://[::ffff:10.0.0.1]:{port}
    """,
    "zones, and brackets that hold something else": """
        http://[fe80::1%25lo]:{port} http://[fe80::1%lo]:{port} http://[::1%25lo]:{port} http://[::1%251]:{port}
        http://[127.0.0.1]:{port} http://[v1.x]:{port} http://[localhost]:{port} http://[::1:{port} http://::1:{port}
        http://[::1]127.0.0.1:{port}
    """,
    "metadata addresses": """
        http://169.254.169.254 http://169.254.169.254/latest/meta-data http://169.254.170.2 http://169.254.170.23
        http://168.63.129.16 http://100.100.100.200 http://192.0.0.192 http://[fd00:ec2::254] http://[fd20:ce::254]
        http://[::ffff:169.254.169.254] http://[::ffff:a9fe:a9fe] http://[64:ff9b::a9fe:a9fe] http://0xa9fea9fe
        http://metadata.test
    """,
    "names that resolve to something inside": """
        http://localhost:{port} http://localhost.:{port} http://LocalHost:{port} http://any.localhost:{port}
        http://loopback4.test:{port} http://loopback6.test:{port} http://private.test:{port} http://mapped.test:{port}
        http://nat64.test:{port} http://zone.test:{port} http://zero.test:{port} http://127.0.0.1.nip.test:{port}
        http://loopback4.test.:{port} http://exa_mple.test:{port} https://loopback4.test:{port}
    """,
    "names with several answers, or none": """
        http://mixed.test:{port} http://mixed-last.test:{port} http://mixed-families.test:{port} http://empty.test:{port}
        http://unknown.test:{port} http://a..test:{port} http://.test:{port} http://127.0.0.1,x:{port}
    """,
    "names that change their minds": "http://rebinding.test:{port} http://rebinding6.test:{port}",
    "names beyond ASCII": """
        http://\uff11\uff12\uff17.\uff10.\uff10.\uff11:{port} http://127\u30020\u30020\u30021:{port}
        http://127\uff0e0\uff0e0\uff0e1:{port} http://127\uff610\uff610\uff611:{port}
        http://\u2460\u2461\u2466.\u24ea.\u24ea.\u2460:{port} http://\uff11\uff12\uff17.\uff11:{port}
        http://\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3:{port} http://\uff4cocalhost:{port}
        http://b\u00fccher.test:{port} http://B\u00dcCHER.test:{port} http://xn--bcher-kva.test:{port}
        http://lo\u00adcalhost:{port} http://127.0.0.1\u200b:{port} http://127.0.0.\u0661:{port}
        http://127.0.0.1:\uff18\uff10
    """,
    "user-info": """
        http://public@127.0.0.1:{port} http://public.test@127.0.0.1:{port} http://public.test:80@127.0.0.1:{port}
        http://u:p@127.0.0.1:{port} http://@127.0.0.1:{port} http://:@127.0.0.1:{port}
        http://127.0.0.1:{port}@public.test http://public.test%40127.0.0.1:{port}
        http://public.test#@127.0.0.1:{port} http://127.0.0.1:{port}#@public.test http://a@b@127.0.0.1:{port}
    """,
    "escapes and slashes": """
        http://%31%32%37.0.0.1:{port} http://127%2e0%2e0%2e1:{port} http://%6c%6f%63%61%6c%68%6f%73%74:{port}
        http://127.0.0.1%00.public.test:{port} http://127.0.0.1%2f@public.test http://public.test\\@127.0.0.1:{port}
        http:\\\\127.0.0.1:{port} http:/127.0.0.1:{port} http:///127.0.0.1:{port} http:////127.0.0.1:{port}
        http:127.0.0.1:{port} //127.0.0.1:{port} 127.0.0.1:{port} http://127.0.0.1\\x:{port} http://[%3a%3a1]:{port}
    """,
    "other schemes, and no host": """
        file:///etc/passwd file://127.0.0.1/etc/passwd gopher://127.0.0.1:{port}/_x ftp://127.0.0.1:{port}
        unix:///run/x.sock http+unix://%2frun%2fx.sock/ ws://127.0.0.1:{port} dict://127.0.0.1:{port} data:text/plain,x
        javascript:alert(1) ldap://127.0.0.1:{port} jar:http://127.0.0.1:{port}!/ http:// https:/// http://:{port}
        http://?x http
    """,
    "ports": """
        http://127.0.0.1:0 http://127.0.0.1:65536 http://127.0.0.1:-1 http://127.0.0.1:+{port} http://127.0.0.1:0x50
        http://127.0.0.1:{port}:80 http://public.test:99999 http://127.0.0.1:0{port} http://127.0.0.1:x http://[::1]:+80
    """,
}
_SPACED = [
    "http://127.0.0.1\t:{port}",
    "http://\t127.0.0.1:{port}",
    " http://127.0.0.1:{port}",
    "http://127.0.0.1 :{port}",
    "http://127.0.0.1\r\n:{port}",
    "ht\ntp://127.0.0.1:{port}",
    "http://public.test\x00@127.0.0.1:{port}",
    "",
]
FORMS = {**{name: text.split() for name, text in _WRITTEN.items()}, "white space and control characters": _SPACED}
STATUSES = (300, 301, 302, 303, 305, 307, 308)
LOCATIONS = ("http://127.0.0.1:{port}/", "//127.0.0.1:{port}/", "http://[::1]:{port}/", "http://loopback4.test:{port}/")
PUBLIC4, PUBLIC6 = "8.8.8.8", "2606:4700::1111"
NAMES = {
    "localhost": ["127.0.0.1", "::1"],
    "any.localhost": ["127.0.0.1"],
    "loopback4.test": ["127.0.0.1"],
    "loopback6.test": ["::1"],
    "private.test": ["10.0.0.1"],
    "mapped.test": ["::ffff:127.0.0.1"],
    "nat64.test": ["64:ff9b::7f00:1"],
    "zone.test": ["fe80::1"],
    "zero.test": ["0.0.0.0"],  # noqa: S104 - an answer, nothing is bound to it
    "metadata.test": ["169.254.169.254"],
    "127.0.0.1.nip.test": ["127.0.0.1"],
    "127.0.0.1,x": ["127.0.0.1"],
    "exa_mple.test": ["127.0.0.1"],
    "xn--bcher-kva.test": ["127.0.0.1"],
    "127.0.0.xn--9hb": ["127.0.0.1"],
    "mixed.test": [PUBLIC4, "127.0.0.1"],
    "mixed-last.test": [PUBLIC4, "8.8.4.4", "1.1.1.1", "127.0.0.1"],
    "mixed-families.test": [PUBLIC4, "::1"],
    "empty.test": [],
    "public.test": [PUBLIC4],
    "rebinding.test": ["127.0.0.1"],
    "rebinding6.test": ["::1"],
}
FIRST = {"rebinding.test": [PUBLIC4], "rebinding6.test": [PUBLIC6, PUBLIC4]}
