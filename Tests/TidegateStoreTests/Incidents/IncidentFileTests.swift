import Foundation
import GRDB
import Testing
import TidegateCore
import TidegateLoop
import TidegateSession
import TidegateTestKit

@testable import TidegateIncidents
@testable import TidegateStore

/// Incidents read from a journal that nothing has open, or that a daemon is writing.
@Suite struct IncidentFileTests {
    private let now = WallTime(microseconds: 1_790_000_000_000_000)

    /// A state directory whose journal has incidents; the folder is removed afterwards.
    private func withDirectory(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    private func fill(_ folder: URL, _ count: Int) async throws {
        let queue = try DatabaseQueue(path: folder.appendingPathComponent("journal.sqlite").path)
        try await queue.write { [now] database in
            try database.execute(sql: IncidentRow.schema)
            for number in 0..<count {
                let start = now - .seconds(1000 + number)
                var incident = Incident(id: "\(10_000 + number)", .network, name: nil, finding(.upstream), start: start)
                incident.endDrop(at: start + .seconds(1))
                (incident.end, incident.endReason) = (start + .seconds(1), .recovered)
                try IncidentRow.save(incident, in: database)
            }
            let span = Coverage.Span("s", .watched, from: now - .seconds(5000), to: now)
            try IncidentChange.cover(span).apply(to: database)
        }
        try queue.close()
    }

    private func read(_ folder: URL) async throws(TextError) -> IncidentAnswer {
        var question = IncidentQuestion()
        (question.since, question.limit) = (self.now - .seconds(5000), .max)
        return try await IncidentFile.answer(question, at: self.now, inStateDirectory: folder.path)
    }

    @Test("They are read with the coverage, and the journal stays as it is")
    func reads() async throws {
        try await self.withDirectory { folder in
            try await self.fill(folder, 20)
            let file = folder.appendingPathComponent("journal.sqlite")
            let (before, bytes) = (
                try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted(), try Data(contentsOf: file)
            )
            let answer = try await self.read(folder)
            #expect(answer.incidents.count == 20 && answer.spans.count == 1)
            #expect(answer.coverage(from: self.now - .seconds(5000), to: self.now).down == .seconds(20))
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == before)
            #expect(try Data(contentsOf: file) == bytes)
        }
    }

    @Test("What a daemon has written and not yet moved into the journal is read")
    func live() async throws {
        try await self.withDirectory { folder in
            try await self.fill(folder, 1)
            var configuration = GRDB.Configuration()
            configuration.journalMode = .wal
            let queue = try DatabaseQueue(
                path: folder.appendingPathComponent("journal.sqlite").path, configuration: configuration)
            let incident = Incident(id: "open", .network, name: nil, finding(.gateway), start: self.now - .seconds(5))
            try await queue.write { try IncidentRow.save(incident, in: $0) }
            #expect(try await self.read(folder).incidents.map(\.id) == ["open", "10000"])
            try queue.close()
        }
    }

    @Test("A journal that is missing, is no database or has no incidents is one sentence with its path")
    func unusable() async throws {
        try await self.withDirectory { folder in
            let path = folder.appendingPathComponent("journal.sqlite").path
            let missing = await #expect(throws: TextError.self) { try await self.read(folder) }
            #expect(missing?.description == "\(path) cannot be read: No such file or directory")
            try Data(repeating: 0x41, count: 10_000).write(to: URL(fileURLWithPath: path))
            let noDatabase = await #expect(throws: TextError.self) { try await self.read(folder) }
            #expect(noDatabase?.description.contains(path) == true)
            try FileManager.default.removeItem(atPath: path)
            try DatabaseQueue(path: path).close()
            let old = await #expect(throws: TextError.self) { try await self.read(folder) }
            #expect(old?.description.contains("\(path) was written by an older version") == true)
        }
    }

    @Test("A journal that is damaged or cut at any page is read in part, or is one sentence")
    func damaged() async throws {
        try await self.withDirectory { folder in
            try await self.fill(folder, 40)
            let file = folder.appendingPathComponent("journal.sqlite")
            let whole = try Data(contentsOf: file)
            for place in stride(from: 0, to: whole.count, by: 997) {
                var damaged = whole
                damaged[place] ^= 0xFF
                for bytes in [damaged, whole.prefix(place)] {
                    try bytes.write(to: file)
                    do throws(TextError) {
                        let written = Set((0..<40).map { "\(10_000 + $0)" })
                        #expect(
                            try await self.read(folder).incidents.allSatisfy { written.contains($0.id) }, "\(place)")
                    } catch {
                        #expect(error.description.contains(file.path), "\(place)")
                    }
                }
            }
        }
    }

    /// Reads incidents 10000 to 10019, the newest first.
    private func answer(_ change: (inout IncidentQuestion) -> Void) async throws -> IncidentAnswer {
        var question = IncidentQuestion()
        change(&question)
        let queue = try DatabaseQueue()
        try await queue.write { [now] database in
            try database.execute(sql: IncidentRow.schema)
            for number in 0..<20 {
                let start = now - .seconds(1000 + number / 2)
                try IncidentRow.save(
                    Incident(id: "\(10_000 + number)", .network, name: nil, finding(.upstream), start: start),
                    in: database)
            }
        }
        return try await queue.read { [question] in try IncidentRow.answer(question, at: now, in: $0) }
    }

    @Test("An id is found by its key, and the first rows that begin so without the others")
    func ids() async throws {
        let whole = try await self.answer { ($0.id, $0.limit) = ("10007", 1) }
        #expect(whole.incidents.map(\.id) == ["10007"] && whole.next == nil)
        let beginning = try await self.answer { ($0.id, $0.limit) = ("1", 3) }
        #expect(beginning.incidents.map(\.id) == ["10000", "10001", "10002"])
        #expect(beginning.ids.count == 4, "a fourth shows that there are more, and no further one is read")
        for id in ["10020", "100070", "2", "\u{7F}"] {
            #expect(try await self.answer { $0.id = id }.ids == [], "\(id)")
        }
    }

    @Test("Pages without totals follow each other, also within one moment, and read only their own rows")
    func pages() async throws {
        var (found, after): ([String], String?) = ([], nil)
        repeat {
            let page = try await self.answer { ($0.wantsTotals, $0.limit, $0.after) = (false, 3, after) }
            #expect(page.isReached && page.ids.count <= 5, "the one before, its own, and one more")
            found += page.incidents.map(\.id)
            after = page.next
        } while after != nil
        #expect(found == (0..<10).flatMap { ["\(10_001 + 2 * $0)", "\(10_000 + 2 * $0)"] })
        #expect(try await self.answer { ($0.wantsTotals, $0.after) = (false, "9") }.isReached == false)
    }

    @Test("No query for an id or a page reads the whole table or sorts it")
    func plans() async throws {
        let queue = try DatabaseQueue()
        try await queue.write { try $0.execute(sql: IncidentRow.schema) }
        func plan(_ change: (inout IncidentQuestion) -> Void) async throws -> [String] {
            var question = IncidentQuestion()
            change(&question)
            let (sql, arguments) = IncidentRow.selection(for: question)
            return try await queue.read { database in
                try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN \(sql)", arguments: arguments).map { $0["detail"] }
            }
        }
        #expect(
            try await plan { $0.id = "019a" }
                == ["SEARCH incident USING INDEX sqlite_autoindex_incident_1 (id>? AND id<?)"])
        let page = try await plan { ($0.after, $0.wantsTotals) = ("019a", false) }
        #expect(page.first?.hasPrefix("SEARCH incident USING INDEX incident_started (") == true, "\(page)")
        #expect(!page.contains { $0.hasPrefix("SCAN incident") || $0.contains("TEMP B-TREE") }, "\(page)")
    }

    @Test("Rows of a journal from before members had names are read as they were written, and get names")
    func version8() async throws {
        let directory = try TestDirectory()
        mkdir(directory.state, 0o700)
        let golden = URL(filePath: #filePath).appending(path: "../../Golden/journal-version-8.sql").standardized
        let dump = try String(contentsOf: golden, encoding: .utf8)
        let old = try DatabaseQueue(path: directory.journalFile)
        chmod(directory.journalFile, 0o600)
        try await old.writeWithoutTransaction { try $0.execute(sql: dump) }
        try old.close()
        var question = IncidentQuestion()
        question.wantsEvidence = true
        let read = try await IncidentFile.answer(question, at: self.now, inStateDirectory: directory.state)
        let (wanted, open) = (Self.version8, try #require(read.incidents.first))
        #expect(read.incidents.dropFirst() == [wanted] && read.plans.map(\.text) == ["router"])
        #expect(open.name == "api" && open.kind == .degraded && open.isDown && open.evidence["start"] == .null)
        let journal = try Journal(directory.state)
        #expect(journal.leftIncidents().incidents.map(\.id) == [open.id])
        let written = Latch()
        journal.record([.save(wanted)]) { _ in written.open() }
        #expect(await eventually { written.isOpen })
        let span = Coverage.Span("t", .watched, from: self.now, to: self.now)
        let again = try await journal.incidents(question, at: self.now, newer: IncidentsNow(open: [:], span: span))
        #expect(again.incidents == read.incidents)
        journal.close()
        let texts = try await DatabaseQueue(path: directory.journalFile).read {
            try String.fetchAll($0, sql: "SELECT text FROM incident ORDER BY id")
        }
        #expect(texts.map(\.first) == ["{", "["] && texts[0].contains("\"reference\":\"T-4711\""))
    }

    /// The first incident of the journal of version 8: no member has its default.
    private static var version8: Incident {
        let start = WallTime(microseconds: 1_790_000_000_000_000)
        let finding = Incident.Finding(
            party: .upstream, cause: "the gateway 10.0.0.1 answers, and nothing beyond it does", advice: "Call them.",
            certainty: .probable,
            evidence: ["families": ["ipv4": ["rungs": ["gateway": "ok", "internet": "failed"]]]])
        var incident = Incident(
            id: "01a0ba60-0000-7000-8000-000000000001", kind: .intermittent, .network, name: nil, finding, start: start)
        incident.drops = [
            .init(start: start, end: start + .seconds(10)),
            .init(start: start + .seconds(40), end: start + .microseconds(50_000_007)),
            .init(start: start + .seconds(90), end: start + .seconds(100)),
        ]
        (incident.dropCount, incident.attempts, incident.connections) = (6, 41, 12)
        (incident.end, incident.endReason) = (start + .seconds(100), .recovered)
        (incident.targets, incident.probes) = (["api", "shop"], ["web \"1\""])
        incident.continues = "01a0ba60-0000-7000-8000-000000000000"
        incident.network = .init(interface: "eth0", gateway: "10.0.0.1", source: "10.0.0.2")
        (incident.worst, incident.recovery) = (["conclusion": "broken", "ms": 1.5], ["conclusion": "works"])
        (incident.note.text, incident.note.reference, incident.note.isPlanned) = ("line fault, é", "T-4711", true)
        incident.note.reported = start + .seconds(60)
        return incident
    }

    @Test("Incidents are read while a change waits for the disk")
    func reader() async throws {
        let directory = try TestDirectory()
        let (started, begun, written) = (Latch(), Latch(), Latch())
        var dependencies = Journal.Dependencies(
            boot: "test", time: SystemClock(), onCommit: { if case .before = $0 { begun.open() } })
        dependencies.flushDelay = .milliseconds(1)
        let journal = try Journal(directory: directory.state, dependencies: dependencies)
        // The journal's thread begins by removing what is too old.
        journal.list(.unfinished) { _ in started.open() }
        #expect(await eventually { started.isOpen })
        var configuration = GRDB.Configuration()
        configuration.allowsUnsafeTransactions = true
        let other = try DatabaseQueue(path: directory.journalFile, configuration: configuration)
        try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
        let span = Coverage.Span("s", .watched, from: self.now - .seconds(5000), to: self.now)
        journal.record([.cover(span)]) { _ in written.open() }
        #expect(await eventually { begun.isOpen })
        _ = try await journal.incidents(
            IncidentQuestion(), at: self.now, newer: IncidentsNow(open: [:], span: span))
        #expect(!written.isOpen, "the change does not wait for the reader, nor the reader for it")
        try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
        #expect(await eventually { written.isOpen })
        try other.close()
        journal.close()
    }

    @Test("Retention keeps what is open, what is young, and a bounded number")
    func retention() async throws {
        try await self.withDirectory { folder in
            try await self.fill(folder, 30)
            let queue = try DatabaseQueue(path: folder.appendingPathComponent("journal.sqlite").path)
            let open = Incident(
                id: "open", .network, name: nil, finding(.gateway), start: self.now - .seconds(9_000_000))
            try await queue.write { [now] database in
                try IncidentRow.save(open, in: database)
                try IncidentRow.expire(before: (now - .seconds(1010)).microseconds, in: database)
            }
            #expect(
                try await queue.read { try IncidentRow.answer(IncidentQuestion(), at: now, in: $0) }.totals[.upstream]?
                    .count == 12)
            try await queue.write { try IncidentRow.expire(before: 0, keeping: 5, in: $0) }
            let answer = try await queue.read { try IncidentRow.answer(IncidentQuestion(), at: now, in: $0) }
            #expect(answer.totals[.upstream]?.count == 5 && answer.totals[.gateway]?.count == 1)
            try queue.close()
        }
    }
}
