import Foundation
import Testing
import TidegateTestKit

extension Situations {
    /// The server answers, and something is wrong with what it says; or it works, with findings.
    @Suite struct Servers {
        @Test("S17: an internet check's URL answers 200 with a body")
        func s17() async throws {
            let answer = try await lab().explain(page, "--internet-check", "http://check.example/body")
            let internet = answer.families["ipv4"]?.rungs.first { $0.rung == "internet" }
            #expect(internet?.reason != "portal", "\(answer)")
            answer.expect(rung: nil, party: nil, says: ["http://check.example/body", "has to answer 204"])
        }

        @Test("S17: without a target, and with a check whose name has no IPv6 address")
        func s17Host() async throws {
            let answer = try await lab().explain(
                nil, "--internet", "--internet-check", "http://check.example/body")
            answer.expect(
                rung: nil, party: nil, says: ["over IPv4", "has to answer 204"], not: ["IPv6", "does not work"])
            let internet = try #require(answer.families["ipv6"]?.rungs.first { $0.rung == "internet" })
            #expect(internet.status == "ok", "\(answer)")
            #expect(!internet.evidence.contains { $0.contains("could be requested") }, "\(internet)")
        }

        @Test("S17: without a target, and with a check whose server is dead, which is all that fails")
        func s17Dead() async throws {
            let answer = try await lab().explain(nil, "-4", "--internet", "--internet-check", "http://203.0.113.11/")
            answer.expect(rung: nil, party: nil, says: ["203.0.113.11"], not: ["provider"])
        }

        @Test("S18: a self-signed certificate")
        func s18() async throws {
            let answer = try await lab().explain("https://selfsigned.example/")
            answer.expect(rung: "tls", party: "theirs", says: ["self-signed"], not: ["clock"])
        }

        @Test("S19: an expired certificate")
        func s19() async throws {
            let answer = try await lab().explain("https://expired.example/")
            answer.expect(rung: "tls", party: "theirs", says: ["expired"], not: ["settings"])
            #expect(answer.says("expired"), "\(answer)")
        }

        @Test("S20: a certificate for another name")
        func s20() async throws {
            let answer = try await lab().explain("https://wrong.example/")
            answer.expect(rung: "tls", party: "theirs", says: ["other.example"], not: ["clock"])
        }

        @Test("S21: plain HTTP on port 443")
        func s21() async throws {
            let answer = try await lab().explain("https://plain.example/")
            answer.expect(
                rung: "tls", party: "theirs", says: ["does not speak TLS", "http://"], not: ["certificate"])
        }

        @Test("S22: a reset in the handshake")
        func s22() async throws {
            let answer = try await lab().explain("https://reset.example/")
            answer.expect(rung: "tls", party: "theirs", says: ["reset"], not: ["certificate"])
        }

        @Test("S23: a reset after the request")
        func s23() async throws {
            let answer = try await lab().explain("http://reset.example/")
            answer.expect(rung: "http", party: "theirs", says: ["reset"], not: ["not valid HTTP"])
        }

        @Test("S24: an SSH server answers the HTTP request")
        func s24() async throws {
            let answer = try await lab().explain("http://203.0.113.24:22/")
            answer.expect(rung: "http", party: "theirs", says: ["HTTP"])
            #expect(answer.says("does not speak HTTP"), "\(answer)")
        }

        @Test("S26: the second address of a name is dead")
        func s26() async throws {
            try await lab().explain("http://multi.example/", timeout: "10s").expect(
                rung: nil, party: nil, says: ["203.0.113.11"])
        }

        @Test("S27: IPv6 is broken, IPv4 works")
        func s27() async throws {
            let answer = try await lab().during(
                .ip(.provider, "-6 route del 2001:db8:77::/64", undo: Self.routeBack)
            ) { try await $0.explain(page, timeout: "10s") }
            answer.expect(rung: nil, party: nil, says: ["IPv6"])
        }

        @Test("S28: the first byte takes four seconds")
        func s28() async throws {
            try await lab().explain("http://203.0.113.24:8088/", timeout: "10s").expect(
                rung: nil, party: nil, says: ["first byte"])
        }

        @Test("S28: the first byte takes four seconds, after a handshake over TLS")
        func s28TLS() async throws {
            let answer = try await lab().explain("https://www.example/slow", "-4", timeout: "10s")
            answer.expect(rung: nil, party: nil, says: ["first byte"], not: ["large"])
        }

        @Test("S29: the server refuses the connection")
        func s29() async throws {
            let answer = try await lab().explain("203.0.113.10:81")
            answer.expect(rung: "tcp", party: "theirs", says: ["203.0.113.10:81"])
            #expect(answer.says("refused"), "\(answer)")
        }

        @Test("S30: the server accepts a request and does not answer")
        func s30() async throws {
            let answer = try await lab().explain("http://203.0.113.24:8080/")
            answer.expect(rung: "http", party: "theirs", says: ["203.0.113.24:8080", "then nothing came for "])
        }

        @Test("S31: the server does not answer the TLS handshake, which is known long before the timeout")
        func s31() async throws {
            let answer = try await lab().explain("https://203.0.113.24:8443/", timeout: "20s")
            answer.expect(rung: "tls", party: "theirs", says: ["203.0.113.24:8443"], not: ["certificate"])
            #expect(answer.duration < .seconds(3), "\(answer)")
        }

        @Test("S32: a firewall drops one port of a server that answers on others")
        func s32() async throws {
            let answer = try await lab().explain("203.0.113.10:9999")
            answer.expect(
                rung: "tcp", party: "theirs",
                says: ["203.0.113.10:9999", "the host is there", "Allow port 9999 in the firewall of 203.0.113.10"],
                not: ["nft"])
        }

        @Test("A forged ICMP error, from an address that is not on the way, convicts no party", arguments: [0, 13])
        func forged(_ code: Int) async throws {
            let lab = try lab()
            let ready = lab.files.path("forging\(code)")
            let forger = try lab.namespace(.router).start(["python3", "-c", Self.forger, "\(code)", ready])
            defer { withExtendedLifetime(forger) {} }
            try #require(await eventually { FileManager.default.fileExists(atPath: ready) })
            // The request itself is lost; the packets of a hop walk, whose hop limits are lower, arrive.
            let answer = try await lab.during(
                .rules(
                    .router,
                    """
                    chain f { type filter hook forward priority 0;
                    ip daddr 203.0.113.10 tcp dport 80 ip ttl > 40 drop; }
                    """)
            ) { try await $0.explain("203.0.113.10:80") }
            answer.expect(rung: "tcp", party: "unknown", not: ["firewall", "operator", "provider", "restart"])
        }

        // Answers each SYN of a request to 203.0.113.10 as if 192.0.2.66 had refused it.
        private static let forger = """
            import socket, struct, sys
            seen = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
            seen.bind(("lan", 0x0800))
            raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
            open(sys.argv[2], "w").close()
            def checksum(data):
                total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
                while total >> 16: total = (total & 0xffff) + (total >> 16)
                return ~total & 0xffff
            while True:
                data, place = seen.recvfrom(2000)
                if place[2] == 4 or data[8] <= 40 or data[9] != 6: continue
                if data[16:20] != socket.inet_aton("203.0.113.10"): continue
                body = bytes([3, int(sys.argv[1]), 0, 0, 0, 0, 0, 0]) + data[:28]
                body = body[:2] + struct.pack("!H", checksum(body)) + body[4:]
                head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(body), 0, 0, 64, 1, 0,
                    socket.inet_aton("192.0.2.66"), data[12:16])
                raw.sendto(head + body, (socket.inet_ntoa(data[12:16]), 0))
            """

        @Test(
            "S33 to S38: an error status",
            arguments: [
                (33, 500, "theirs"), (34, 401, "mine"), (35, 403, "mine"), (36, 404, "mine"), (37, 429, "theirs"),
                (38, 503, "theirs"),
            ])
        func s33to38(_ number: Int, _ status: Int, _ party: String) async throws {
            let answer = try await lab().explain("http://www.example/\(status)")
            answer.expect(rung: "http", party: party)
            #expect(answer.says("\(status)"), "\(answer)")
        }

        @Test("S39: the last router says that the host is gone")
        func s39() async throws {
            let answer = try await lab().explain("203.0.113.11:80")
            answer.expect(rung: "tcp", party: "theirs", says: ["203.0.113.11"])
            #expect(answer.says("host unreachable"), "\(answer)")
        }

        @Test("A private authority in between is a finding: it was added to this host, and the address is a public one")
        func privateAuthority() async throws {
            let answer = try await lab().explain("https://www.example/", "-4", addsAuthority: true)
            answer.expect(
                rung: nil, party: nil,
                says: ["private authority", "Test Authority", "/usr/local/share/ca-certificates/example-corp.crt"])
            #expect(answer.text.contains(#""localAuthority":{"name":"Test Authority""#), "\(answer)")
            try await lab().explain("https://www.example/", "-4").expect(rung: nil, party: nil, not: ["authority"])
        }

        private static let routeBack = "-6 route add 2001:db8:77::/64 via 2001:db8:100::2"
    }
}
