import ArgumentParser
import Foundation
import Testing
import TidegateTestKit

@testable import TidegateCLI

/// `incidents`, `report` and `guard` as programs: each subcommand and option runs, and real parsers read what is for programs.
@Suite(.timeLimit(.minutes(5)))
struct IncidentProgramTests {
    private static let future = ["--from", "2099-12-01T02:00:00Z", "--to", "2099-12-01T04:00:00Z"]

    /// A sidecar whose targets, on this host, refuse; and the id of an incident.
    private struct Sidecar {
        let daemon: ConfiguredDaemon
        private(set) var id = ""

        init(targets: [String] = ["web"]) async throws {
            let entries = try targets.map {
                "{name: \($0), host: 127.0.0.1, port: \(try FreePort.find()), interval: 1s}"
            }
            self.daemon = try await ConfiguredDaemon(
                configuration: "reachability: {targets: [\(entries.joined(separator: ", "))]}")
            let list = try await eventualValue {
                let list = try await self.object(["incidents", "--json"])["incidents"] as? [[String: Any]] ?? []
                return list.count < targets.count ? nil : list
            }
            self.id = try #require(list?.first?["id"] as? String, "\(self.daemon.log)")
        }

        func run(_ arguments: [String], status: Int32 = 0) async throws -> String {
            let output = try await Program.run(
                [BuiltProduct.path(of: "tidegate")] + arguments + ["--control.socket", self.daemon.socket])
            #expect(output.status == status, "\(arguments): \(output)")
            return output.output
        }

        func object(_ arguments: [String], status: Int32 = 0) async throws -> [String: Any] {
            let text = try await self.run(arguments, status: status)
            return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any], "\(text)")
        }
    }

    @Test(
        "Comma-separated values of a list and of a report, also in a file, are RFC 4180, with a row for each incident")
    func csv() async throws {
        let sidecar = try await Sidecar()
        _ = try await sidecar.run(["incidents", "note", sidecar.id, "two\r\nlines, and \"quotes\""])
        let file = "\(sidecar.daemon.path)/r.csv"
        #expect(try await sidecar.run(["report", "--csv", "-o", file]) == "\(file): 1 incident\n")
        let texts = [
            try await sidecar.run(["incidents", "--csv"]), try await sidecar.run(["report", "--csv"]),
            try String(contentsOfFile: file, encoding: .utf8),
        ]
        for text in texts {
            #expect(!text.contains("\\u{") && text.hasSuffix("\r\n") && !text.hasSuffix("\r\n\r\n"), "\(text)")
            let rows = try await CSV.rows(text)
            try #require(rows.count == 2, "\(rows)")
            #expect(rows[0].prefix(4) == ["id", "kind", "scope", "target"] && rows[1].count == rows[0].count)
            #expect(rows[1].prefix(4) == [sidecar.id, "down", "target", "web"])
            #expect(rows[1].contains("two\r\nlines, and \"quotes\""), "\(rows)")
        }
        _ = await sidecar.daemon.stop()
    }

    @Test("Plans of the future and of the present are listed, are in a report, and can be removed")
    func plans() async throws {
        let sidecar = try await Sidecar()
        func texts() async throws -> [[String]] {
            [
                try await sidecar.object(["incidents", "plan", "--json"]),
                try await sidecar.object(["incidents", "--json"]), try await sidecar.object(["report", "--json"]),
            ].map { ($0["plans"] as? [[String: Any]] ?? []).compactMap { $0["text"] as? String } }
        }
        _ = try await sidecar.run(["incidents", "plan", "new router"] + Self.future)
        _ = try await sidecar.run(["incidents", "plan", "today", "--from", "2020-01-01", "--to", "2098-01-01"])
        let both = try await eventually { try await texts().allSatisfy { $0 == ["today", "new router"] } }
        let shown = try await texts()
        #expect(both, "\(shown)")
        #expect(try await sidecar.run(["report"]).contains("new router"))
        #expect(try await sidecar.run(["incidents", "plan"]).contains("new router"))
        let plans = try await sidecar.object(["incidents", "plan", "--json"])["plans"] as? [[String: Any]] ?? []
        for plan in plans {
            let id = try #require(plan["id"] as? String)
            #expect(try await sidecar.run(["incidents", "plan", "--remove", id]) == "Removed.\n")
        }
        #expect(try await texts() == [[], [], []])
        _ = try await sidecar.run(["incidents", "plan", "--remove", "019a"], status: 1)
        _ = await sidecar.daemon.stop()
    }

    @Test("The ids of a list name one incident each; a beginning of several is refused with them, and writes no note")
    func ambiguous() async throws {
        let sidecar = try await Sidecar(targets: ["web", "api"])
        let list = try await sidecar.run(["incidents"])
        let shown = list.split(separator: "\n").filter { $0.contains("nothing listens") }.map {
            String($0.prefix { $0 != " " })
        }
        try #require(shown.count == 2, "\(list)")
        var found: [String] = []
        for id in shown {
            found.append(try #require(try await sidecar.object(["incidents", "show", id, "--json"])["id"] as? String))
        }
        #expect(Set(found).count == 2)
        for command in [["show", "0"], ["note", "0", "text"]] {
            let output = try await Program.run(
                [BuiltProduct.path(of: "tidegate"), "incidents"] + command + [
                    "--control.socket", sidecar.daemon.socket,
                ])
            #expect(output.status == 2 && output.errors.contains("\"0\" fits several incidents: "), "\(output)")
            #expect(found.allSatisfy(output.errors.contains), "\(output)")
        }
        let incidents = try await sidecar.object(["incidents", "--json"])["incidents"] as? [[String: Any]] ?? []
        #expect(incidents.count == 2 && incidents.allSatisfy { $0["note"] is NSNull })
        let unknown = try await Program.run([
            BuiltProduct.path(of: "tidegate"), "incidents", "show", "ffff", "--control.socket", sidecar.daemon.socket,
        ])
        #expect(unknown.status == 1 && unknown.errors.contains("no incident has the id ffff"), "\(unknown)")
        _ = await sidecar.daemon.stop()
    }

    @Test("Every option of every subcommand runs")
    func options() async throws {
        let sidecar = try await Sidecar()
        let (id, folder) = (sidecar.id, sidecar.daemon.path)
        let filters = [
            "--since", "30d", "--until", "2099-01-01", "--party", "mine", "--target", "web", "--count-maintenance",
            "--with-identifiers", "--state.dir", "\(folder)/state",
        ]
        let user = ["--control.user", "\(geteuid())"]
        let runs: [(command: [String], options: [[String]])] = [
            (
                ["incidents", "list"],
                [filters + ["--scope", "target", "--open"], ["--csv"], ["--json"], ["-q"], ["-v"], user]
            ),
            (
                ["incidents", "show", id],
                [["--with-identifiers", "--state.dir", "\(folder)/state"], ["--json"], ["-q"], ["-v"], user]
            ),
            (
                ["incidents", "note", id, "text"],
                [
                    ["--reference", "T-1", "--reported", "2026-11-23T02:20:00Z"], ["--planned", "--json"], ["-q"],
                    ["-v"], user,
                ]
            ),
            (["incidents", "plan"], [["text"] + Self.future, ["--json"], ["-q"], ["-v"], user]),
            (["report"], [filters + ["--output", "\(folder)/r.html"], ["--csv"], ["--json"], ["-q"], ["-v"], user]),
            (["guard", "web"], [["--json"], ["-q"], ["-v"], user]),
        ]
        for (command, options) in runs {
            for options in options { try await self.check(options, of: command, in: sidecar) }
            let used = Set(options.joined().filter { $0.hasPrefix("-") } + ["--control.socket"])
            let known = try Self.options(of: command.filter { $0 != id && $0 != "text" && $0 != "web" })
            // A plan is removed by another test.
            #expect(known.subtracting(used).subtracting(["--remove", "--version", "--help"]) == [], "\(command)")
        }
        _ = await sidecar.daemon.stop()
    }

    private func check(_ options: [String], of command: [String], in sidecar: Sidecar) async throws {
        // Nothing listens at the target's port of this host.
        let text = try await sidecar.run(command + options, status: command[0] == "guard" ? 1 : 0)
        if options.contains("-q") {
            let isReport = command[0] == "report"
            #expect(isReport ? text.hasPrefix("<!") : text.isEmpty, "\(command): \(text)")
        } else if options.contains("--json") {
            let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
            #expect(object?.isEmpty == false && text.hasSuffix("}\n"), "\(command): \(text)")
        } else {
            #expect(text.utf8.last == 0x0A, "\(command) \(options)")
        }
    }

    /// The options in the help of a command, the short form where there is one.
    private static func options(of command: [String]) throws -> Set<String> {
        var help: String?
        do {
            var command = try TidegateCommand.parseAsRoot(command + ["--help"])
            try command.run()
        } catch {
            help = ProgramExit(error, parsedBy: TidegateCommand.self).output
        }
        let text = try #require(help, "\(command)")
        return Set(text.matches(of: /\n  (?:(-[qv]), )?(?:-[a-z], )?(--[a-z.-]+)/).map { String($0.1 ?? $0.2) })
    }

    @Test("The metrics of incidents are an exposition that promtool accepts", .enabled(if: Oracle.exists))
    func metrics() async throws {
        let sidecar = try await Sidecar()
        let port = try #require(await eventualValue { sidecar.daemon.port })
        let file = "\(sidecar.daemon.path)/metrics"
        _ = try await Program.expect(
            [
                "curl", "-sf", "-o", file,
                "http://127.0.0.1:\(port)/metrics?name[]=tidegate_incidents_total&name[]=tidegate_incident_open"
                    + "&name[]=tidegate_incident_seconds_total&name[]=tidegate_watched_seconds_total",
            ].map { $0.replacing("[]", with: "%5B%5D") })
        let check = try await Program.run(["sh", "-c", "promtool check metrics < \(file)"])
        #expect(check.status == 0, "\(check)")
        let text = try String(contentsOfFile: file, encoding: .utf8)
        #expect(text.contains("tidegate_incident_open{scope=\"target\",kind=\"down\",party=\"mine\"} 1"), "\(text)")
        _ = await sidecar.daemon.stop()
    }

    private enum Oracle {
        static let exists = FileManager.default.isExecutableFile(atPath: "/usr/bin/promtool")
    }
}
