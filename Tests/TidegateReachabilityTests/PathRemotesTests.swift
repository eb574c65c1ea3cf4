internal import Testing
@testable internal import TidegateCore
internal import TidegateTestKit

@testable internal import TidegateReachability

/// Which connections of other programs say something about a path.
struct PathRemotesTests {
    private static func remote(
        _ text: String, port: UInt16 = 443, answered: Duration? = .milliseconds(100),
        stalled: [ConnectionStall: Int] = [:], _ direction: ConnectionDirection = .outgoing
    ) throws -> RemoteReport {
        var report = RemoteReport(Remote(try address(text), port: port, direction))
        (report.answered, report.stalled) = (answered, stalled)
        return report
    }

    private static func remotes(
        _ remotes: [RemoteReport], for subject: String, within window: Duration = .seconds(2),
        listed: Duration? = .zero
    ) throws -> PathRemotes {
        var report = ConnectionsReport(mode: .event, remotes: remotes)
        report.listed = listed
        return PathRemotes(report, for: try address(subject), within: window)
    }

    @Test("Only a fresh answer of another remote of the same family counts, the last one first")
    func answering() throws {
        let remotes = try Self.remotes(
            [
                Self.remote("198.51.100.3", answered: .milliseconds(900)), Self.remote("198.51.100.4"),
                Self.remote("198.51.100.4", port: 80), Self.remote("198.51.100.5", answered: .milliseconds(1500)),
                Self.remote("198.51.100.6", answered: nil), Self.remote("198.51.100.2"), Self.remote("2001:db8::5"),
            ], for: "198.51.100.2")
        #expect(remotes.answering == [try address("198.51.100.4"), try address("198.51.100.3")])
        #expect(remotes.isSubjectAnswering)
    }

    @Test("A list from before the path was asked does not say that a remote is silent")
    func old() throws {
        let hanging = try Self.remote("198.51.100.3", answered: nil, stalled: [.unanswered: 1])
        func silent(_ listed: Duration?) throws -> [IPAddress] {
            try Self.remotes([hanging], for: "198.51.100.2", listed: listed).silent
        }
        #expect(try silent(.seconds(2)) == [try address("198.51.100.3")])
        #expect(try silent(.milliseconds(2001)).isEmpty)
        #expect(try silent(nil).isEmpty)
    }

    @Test("An answer from before the path was asked does not count")
    func earlier() throws {
        let all = [
            try Self.remote("198.51.100.3", answered: .milliseconds(300)), try Self.remote("198.51.100.2"),
        ]
        let late = try Self.remotes(all, for: "198.51.100.2", within: .milliseconds(400))
        #expect(late.answering == [try address("198.51.100.3")] && late.isSubjectAnswering)
        let early = try Self.remotes(all, for: "198.51.100.2", within: .milliseconds(90))
        #expect(early.answering.isEmpty && !early.isSubjectAnswering)
    }

    @Test("A private remote says nothing of the path to a public address, and both say something of a private one's")
    func scope() throws {
        let all = [try Self.remote("10.1.0.7"), try Self.remote("198.51.100.4", answered: .milliseconds(200))]
        #expect(try Self.remotes(all, for: "198.51.100.2").answering == [address("198.51.100.4")])
        #expect(try Self.remotes(all, for: "10.2.0.1").answering == [address("10.1.0.7"), address("198.51.100.4")])
    }

    @Test("A remote is silent if connections to it hang and none answers; a closed window is no silence")
    func silent() throws {
        let remotes = try Self.remotes(
            [
                Self.remote("198.51.100.3", answered: .seconds(4), stalled: [.unanswered: 2]),
                Self.remote("198.51.100.4", answered: .seconds(4), stalled: [.window: 1]),
                Self.remote("198.51.100.5", port: 80, answered: nil, stalled: [.connecting: 1]),
                Self.remote("198.51.100.5", port: 443), Self.remote("198.51.100.2", stalled: [.unanswered: 1]),
            ], for: "198.51.100.2")
        #expect(remotes.silent == [try address("198.51.100.3")])
    }

    @Test("Connections to the target are those that programs of this host opened to its addresses and port")
    func opened() throws {
        var lost = try Self.remote("198.51.100.2")
        lost.remote.port = nil
        let remotes = try Self.remotes(
            [
                Self.remote("198.51.100.2"), Self.remote("198.51.100.2", port: 80), lost,
                Self.remote("198.51.100.9"), Self.remote("198.51.100.2", .incoming), Self.remote("198.51.100.7"),
            ], for: "198.51.100.2")
        let opened = remotes.opened(or: [try address("198.51.100.9")], port: 443)
        #expect(opened.map(\.remote.description) == ["198.51.100.2:443", "198.51.100.2:?", "198.51.100.9:443"])
        #expect(remotes.opened(or: [], port: nil).count == 3)
    }

    @Test("The nearest to the target is the witness: its own answer, then another's, then silence")
    func witness() throws {
        var findings = ConnectionFindings()
        #expect(findings.witness == nil)
        findings.isAnySilent = true
        #expect(findings.witness == Witness(.connection, .nothing))
        (findings.answering, findings.remote) = (1, try address("198.51.100.4"))
        #expect(findings.witness == Witness(.connection, .beyond(try address("198.51.100.4"))))
        findings.isEndAnswering = true
        #expect(findings.witness == Witness(.connection, .destination))
    }
}
