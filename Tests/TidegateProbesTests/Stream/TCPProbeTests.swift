import Testing
import TidegateCore
import TidegateProbes
import TidegateTestKit

@Suite(.timeLimit(.minutes(5)))
struct TCPProbeTests {
    @Test("A connection is enough, and its phases are measured")
    func connect() async throws {
        let server = try await ScriptedServer([.hang])
        let report = try await StreamProbe.tcp("127.0.0.1:\(server.port)")
        #expect(report.value("probe_success") == 1, "\(report.failure as Any)")
        #expect(report.value("probe_failed_due_to_regex") == 0 && report.value("probe_failed_due_to_bytes") == 0)
        #expect(report.value("probe_ip_protocol") == 4 && report.value("probe_ip_addr_hash") == 3_668_918_509)
        let phases = report.families.first { $0.name == "probe_tcp_duration_seconds" }?.samples.map { $0.labels[0] }
        #expect(phases == ["resolve", "connect"])
    }

    @Test("A target that is none fails, and one whose port is closed says whose failure it is")
    func failures() async throws {
        for target in [":0", "127.0.0.1", "127.0.0.1:0", "127.0.0.1:99999"] {
            let report = try await StreamProbe.tcp(target)
            #expect(report.failure?.reason == "invalid_target" && report.value("probe_success") == 0, "\(target)")
        }
        let port = try FreePort.find()
        let closed = try await StreamProbe.tcp("127.0.0.1:\(port)")
        #expect(closed.failure?.reason == "connect_failed" && closed.failure?.party == .mine)
        #expect(closed.failure?.text == "127.0.0.1 refused the connection")
        let denied = try await StreamProbe.tcp(
            "127.0.0.1:\(port)", targets: ProbeTargetPolicy(deny: [.host("127.0.0.1")]))
        #expect(denied.failure?.reason == "target_denied")
    }

    @Test("IRC: the server's questions are answered, and an error is not the line that is expected")
    func irc() async throws {
        func probe(_ steps: [ScriptedServer.Step]) async throws -> (ProbeReport, [String]) {
            let server = try await ScriptedServer(steps)
            let report = try await StreamProbe.tcp("127.0.0.1:\(server.port)") {
                $0.dialogue = [
                    .send("NICK prober"), .send("USER prober prober prober :prober"),
                    try .expect("PING :([^ ]+)", send: "PONG ${1}"), try .expect("^:[^ ]+ 001"),
                ]
            }
            return (report, server.lines)
        }
        let (welcome, lines) = try await probe([
            .send(":ircd.localhost NOTICE AUTH :*** Looking up your hostname...\n"), .readLine, .readLine,
            .send("PING :ircd.localhost\r\n"), .readLine, .send(":ircd.localhost 001 prober :Welcome\n"),
        ])
        #expect(welcome.value("probe_success") == 1 && welcome.value("probe_failed_due_to_regex") == 0)
        #expect(lines == ["NICK prober", "USER prober prober prober :prober", "PONG ircd.localhost"])
        let (banned, _) = try await probe([
            .readLine, .readLine, .send("ERROR: Your IP address has been blacklisted.\n"),
        ])
        #expect(banned.value("probe_success") == 0 && banned.value("probe_failed_due_to_regex") == 1)
        #expect(banned.failure?.reason == "response" && banned.failure?.party == .theirs)
    }

    @Test("SSH: what the banner says becomes labels, and is sent back")
    func sshBanner() async throws {
        let server = try await ScriptedServer([.send("SSH-2.0-OpenSSH_6.9p1 Debian-2\r\n"), .readLine])
        let report = try await StreamProbe.tcp("127.0.0.1:\(server.port)") {
            $0.dialogue = [
                try .expect(
                    "^SSH-2.0-([^ -]+)(?: (.*))?$", send: "CONFIRM ${1}",
                    labels: [
                        StreamProbeOptions.Label(name: "ssh_version", value: "${1}"),
                        StreamProbeOptions.Label(name: "ssh_comments", value: "${2}"),
                    ])
            ]
        }
        #expect(report.value("probe_success") == 1, "\(report.failure as Any)")
        let info = report.families.first { $0.name == "probe_expect_info" }
        #expect(info?.labels == ["ssh_version", "ssh_comments"])
        #expect(info?.value(labels: ["OpenSSH_6.9p1", "Debian-2"]) == 1)
        #expect(await eventually { server.lines == ["CONFIRM OpenSSH_6.9p1"] })
    }

    @Test("Bytes are compared as they are, also after a line")
    func expectedBytes() async throws {
        func probe(_ answer: String) async throws -> ProbeReport {
            let server = try await ScriptedServer([.send("hello\n\(answer)"), .readLine])
            return try await StreamProbe.tcp("127.0.0.1:\(server.port)") {
                $0.dialogue = [try .expect("hello"), .expect(bytes: "+P\u{0}NG", send: "bye")]
            }
        }
        let same = try await probe("+P\u{0}NG")
        #expect(same.value("probe_success") == 1 && same.value("probe_failed_due_to_bytes") == 0)
        let other = try await probe("-ERR!")
        #expect(other.value("probe_success") == 0 && other.value("probe_failed_due_to_bytes") == 1)
        #expect(other.value("probe_failed_due_to_regex") == 0 && other.failure?.reason == "response")
    }

    @Test("The preferred family is taken, and the other one only if that is allowed")
    func family() async throws {
        let (four, six) = (try await ScriptedServer([.hang]), try await ScriptedServer([.hang], address: "::1"))
        let both = ["localhost": [ProbeFixture.loopback, try #require(IPAddress("::1"))]]
        let first = try await StreamProbe.tcp("localhost:\(four.port)", names: both) { $0.family.family = .ipv4 }
        #expect(first.value("probe_success") == 1 && first.value("probe_ip_protocol") == 4)
        let second = try await StreamProbe.tcp("localhost:\(six.port)", names: both)
        #expect(second.value("probe_success") == 1 && second.value("probe_ip_protocol") == 6)
        let none = try await StreamProbe.tcp(
            "six.test:\(six.port)", names: ["six.test": [try #require(IPAddress("::1"))]]
        ) { $0.family = FamilyPreference(.ipv4, allowsFallback: false) }
        #expect(none.failure?.reason == "resolve_failed" && none.value("probe_ip_protocol") == 0)
    }

    @Test("Connections come from the module's address")
    func source() async throws {
        let server = try await ScriptedServer([.send("hello\n")])
        func probe(_ source: String) async throws -> ProbeReport {
            try await StreamProbe.tcp("127.0.0.1:\(server.port)") {
                $0.source.address = IPAddress(source)
                $0.dialogue = [try .expect("hello")]
            }
        }
        #expect(try await probe("127.0.0.9").value("probe_success") == 1)
        #expect(server.peers == ["127.0.0.9"])
        let absent = try await probe("192.0.2.1")
        #expect(absent.failure?.reason == "connect_failed" && absent.failure?.party == .mine)
        #expect(
            try await probe("::1").failure?.text
                == "127.0.0.1 has no IPv6 address, and the module allows no other")
    }

    @Test("Connections take the module's interface, whatever the routes say of others")
    func interface() async throws {
        let server = try await ScriptedServer([.send("hello\n")])
        func probe(_ name: String, to host: String = "127.0.0.1") async throws -> ProbeReport {
            try await StreamProbe.tcp("\(host):\(server.port)") { $0.source.interface = name }
        }
        #expect(try await probe("lo").value("probe_success") == 1)
        let absent = try await probe("nosuch0")
        #expect(absent.failure?.text == "there is no interface nosuch0" && absent.failure?.party == .mine)
        // Nothing but this host's own addresses is behind that interface.
        let unrouted = try await probe("lo", to: "[2001:db8::1]")
        #expect(unrouted.value("probe_gated") == 1, "\(unrouted.failure as Any)")
        #expect(unrouted.failure?.text == "no path to 2001:db8::1 by lo: no route" && unrouted.failure?.party == .mine)
    }

    @Test(
        "A peer that never comes to an end is left at the deadline, or when a line is too long",
        arguments: [
            ([ScriptedServer.Step.hang], "timed_out"), ([.flood(String(repeating: "a", count: 8192))], "too_large"),
            ([.flood(String(repeating: "other line\n", count: 1000))], "timed_out"), ([.readLine, .reset], "reset"),
        ])
    func hostile(_ steps: [ScriptedServer.Step], _ reason: String) async throws {
        let server = try await ScriptedServer(steps)
        let limit: Duration = reason == "timed_out" ? .milliseconds(500) : .seconds(60)
        let report = try await StreamProbe.tcp("127.0.0.1:\(server.port)", timeout: limit) {
            $0.dialogue = [.send("hello"), try .expect("^never$")]
        }
        #expect(report.failure?.reason == reason, "\(report.failure as Any)")
        #expect(report.value("probe_failed_due_to_regex") == 0)
        #expect(report.duration < .seconds(60))
    }

    @Test("A line that is not read does not keep the probe from its deadline")
    func unreadLine() async throws {
        let server = try await ScriptedServer([.hang])
        let report = try await StreamProbe.tcp("127.0.0.1:\(server.port)", timeout: .milliseconds(500)) {
            $0.dialogue = [.expect(bytes: "never")]
        }
        #expect(report.failure?.reason == "timed_out" && report.value("probe_failed_due_to_bytes") == 0)
    }

    @Test("What is sent is not logged")
    func secrets() async throws {
        let server = try await ScriptedServer([.readLine])
        let report = try await StreamProbe.tcp("127.0.0.1:\(server.port)") { $0.dialogue = [.send("PASS s3cret")] }
        #expect(report.value("probe_success") == 1 && !report.log.lines.joined().contains("s3cret"))
    }
}
