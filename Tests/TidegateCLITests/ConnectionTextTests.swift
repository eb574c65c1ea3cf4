import ArgumentParser
import Foundation
import Testing
import Tidegate
@testable import TidegateCore
import TidegateTestKit

@testable import TidegateCLI

/// What `tidegate connections` prints, and for which remotes.
@Suite struct ConnectionTextTests {
    private static let wide = TextStyle(isColored: false, width: 160)

    @Test("One row for each remote, with what hangs and what became of its connections")
    func remotes() {
        #expect(
            ConnectionText.remotes(ConnectionSamples.report, Self.wide) == [
                "REMOTE              TARGET  DIR  CONNS  STALLED  RTT     RETRANS  LIMIT         ANSWERED    LAST OUTCOMES (5 m)",
                "198.51.100.2:443    api     out  3      3        18 ms   9.1 %    -             4.2 s ago   "
                    + "lost 2 (the server); no answer to what was sent (the server); next try in 1.3 s",
                "10.0.3.7:5432       db      out  12     0        0.4 ms  0.0 %    their window  100 ms ago",
                "10.0.4.20 to :8080  -       in   2      0        -       -        -             1 s ago     closed 5",
                "10.0.9.9:?          -       out  0      0        -       -        -             -           "
                    + "refused 7 (1 your router, 4 the server); port unknown: blocking connect",
            ])
    }

    @Test("A port is lost with a blocking connect, and when a program resets its connection")
    func lostPort() {
        var report = ConnectionSamples.report
        report.remotes = [report.remotes[3]]
        (report.remotes[0].outcomes, report.remotes[0].failures) = ([.aborted: 2], [:])
        #expect(
            ConnectionText.remotes(report, Self.wide)[1].hasSuffix(
                "  aborted here 2; port unknown: reset by the program"))
    }

    @Test("Owners are a column of their own")
    func owners() {
        let lines = ConnectionText.remotes(ConnectionSamples.report, Self.wide) { remote in
            remote.owners.map { "u\($0.user)" }.joined(separator: " ")
        }
        #expect(lines[0].contains("ANSWERED    OWNER      LAST OUTCOMES"))
        #expect(lines[1].contains("  u1000      lost 2"))
        #expect(lines[2].hasSuffix("  u1000 u33"))
    }

    @Test("Owners and three programs are named, and how many more there are")
    func programs() {
        var owners = ConnectionOwners(hierarchy: "/nonexistent")
        var remote = RemoteReport(Remote(IPAddress(ipv4: 0x0A00_0909), port: 80, .outgoing))
        #expect(owners.text(of: remote, []) == "-")
        let programs = (1...5).map { SocketProgram(pid: $0, name: "p") }
        #expect(owners.text(of: remote, Array(programs.prefix(3))) == "p[1] p[2] p[3]")
        remote.owners = [RemoteReport.Owner(user: 0, controlGroup: 7)]
        #expect(owners.text(of: remote, programs) == "root@cgroup 7 p[1] p[2] p[3] and 2 more")
    }

    @Test("Remotes with something in common are one row, those that hang first")
    func groups() {
        let lines = ConnectionText.groups(ConnectionSamples.report, head: "OWNER", Self.wide) { remote in
            remote.owners.isEmpty ? ["not known"] : remote.owners.map { "u\($0.user)" }
        }
        #expect(
            lines == [
                "OWNER      REMOTES  CONNS  STALLED  ANSWERED    LAST OUTCOMES (5 m)",
                "u1000      2        15     3        100 ms ago  lost 2 (the server)",
                "u33        2        14     0        100 ms ago  closed 5",
                "not known  1        0      0        -           refused 7 (1 your router, 4 the server)",
            ])
    }

    @Test(
        "How long ago a remote answered has two digits, then whole seconds, then two units",
        arguments: [
            (.milliseconds(9940), "9.9 s ago"), (.milliseconds(32_800), "33 s ago"), (.seconds(125), "2 min 5 s ago"),
        ] as [(Duration, String)])
    func answered(_ duration: Duration, _ text: String) {
        var report = ConnectionSamples.report
        report.remotes = [report.remotes[1]]
        report.remotes[0].answered = duration
        #expect(ConnectionText.remotes(report, Self.wide)[1].hasSuffix("  \(text)"))
    }

    @Test("Without connections there is a sentence instead of a head")
    func none() {
        #expect(ConnectionText.remotes(ConnectionsReport(mode: .event), .plain) == ["No connections."])
        #expect(ConnectionText.groups(ConnectionsReport(), head: "OWNER", .plain) { _ in [] } == ["No connections."])
    }

    @Test("Missing values are reported, and complete ones add no note")
    func caveats() {
        #expect(ConnectionsReport(mode: .event).caveats.isEmpty)
        #expect(
            ConnectionsReport(mode: .poll, reason: "messages are refused", dropped: 3).caveats == [
                "connections are observed by lists only: messages are refused",
                "the kernel dropped 3 messages, so that some ends are missing",
            ])
    }

    private static let filters: [([String], [String])] = [
        ([], ["198.51.100.2", "10.0.3.7", "10.0.4.20", "10.0.9.9"]),
        (["--remote", "10.0.0.0/16"], ["10.0.3.7", "10.0.4.20", "10.0.9.9"]),
        (["--remote", "10.0.3.7"], ["10.0.3.7"]), (["--remote", "2001:db8::/32"], []),
        (["--port", "8080"], ["10.0.4.20"]), (["--target", "api"], ["198.51.100.2"]), (["--stalled"], ["198.51.100.2"]),
        (["--failed"], ["198.51.100.2", "10.0.9.9"]), (["--failed", "--remote", "10.0.0.0/8"], ["10.0.9.9"]),
        (["-6"], []), (["-4", "--port", "5432"], ["10.0.3.7"]),
    ]

    @Test("Options choose remotes, all of them together", arguments: Self.filters)
    func choose(_ arguments: [String], _ addresses: [String]) throws {
        let command = try #require(
            try TidegateCommand.parseAsRoot(["connections"] + arguments) as? ConnectionsCommand)
        let report = try command.filter().apply(to: ConnectionSamples.report)
        #expect(report.remotes.map(\.remote.address.description) == addresses)
    }

    @Test("A control group that came after the hierarchy was read is named, too")
    func newGroup() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: folder) }
        func group(_ name: String) throws -> UInt64 {
            let path = folder.appendingPathComponent(name)
            try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
            let attributes = try FileManager.default.attributesOfItem(atPath: path.path)
            return try #require(attributes[.systemFileNumber] as? NSNumber).uint64Value
        }
        var owners = ConnectionOwners(hierarchy: folder.path)
        let first = try group("a.slice/b.service")
        #expect(owners.text(of: .init(user: 0, controlGroup: first)) == "root@a.slice/b.service")
        let second = try group("c.service")
        #expect(owners.text(of: .init(user: 0, controlGroup: second)) == "root@c.service")
    }

    @Test("Users and control groups are shown by name or directory; those without a name by number")
    func names() throws {
        var owners = ConnectionOwners(hierarchy: "/nowhere")
        #expect(owners.text(of: .init(user: 0)) == "root")
        #expect(owners.text(of: .init(user: 0, controlGroup: 1)) == "root")
        #expect(owners.text(of: .init(user: 3_999_999_999, controlGroup: 77)) == "uid 3999999999@cgroup 77")
    }
}
