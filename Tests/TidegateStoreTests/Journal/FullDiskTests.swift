import Foundation
import GRDB
import Glibc
import Testing
@testable import TidegateStore
import TidegateCore
import TidegateSession
import TidegateTestKit

/// A journal on a full disk.
@Suite(.timeLimit(.minutes(5)))
struct FullDiskTests {
    /// A file system of two mebibytes, mounted on the state directory.
    private final class SmallDisk {
        let directory: TestDirectory
        private var filler: Int32 = -1

        init?() throws {
            self.directory = try TestDirectory()
            mkdir(self.directory.state, 0o700)
            guard mount("tidegate", self.directory.state, "tmpfs", 0, "size=2m,mode=0700") == 0 else { return nil }
        }

        deinit {
            close(self.filler)
            umount2(self.directory.state, Int32(MNT_DETACH))
        }

        func fill(leaving room: Int = 0) {
            self.filler = open("\(self.directory.state)/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            let block = [UInt8](repeating: 1, count: 4096)
            while write(self.filler, block, block.count) > 0 {}
            if room > 0 { ftruncate(self.filler, lseek(self.filler, 0, SEEK_END) - room) }
        }

        func empty() { ftruncate(self.filler, 0) }
    }

    private static let mayMount = geteuid() == 0

    @Test(
        "On a full disk nothing is accepted; accepted tasks are held unsent, and run when there is space again",
        .enabled(if: mayMount, "needs root"))
    func full() async throws {
        let disk = try #require(try SmallDisk(), "no tmpfs can be mounted here")
        let server = try LiveServer { .respond(text: $0.path) }
        defer { server.stop() }
        let fixture = try JournalFixture(disk.directory)
        fixture.paths.say(ScriptedPathSource.lost())
        let post = try TaskRequest(url: server.url("/post"), method: "POST", body: .data([1]))
        let made = try await fixture.session.submit(post)
        disk.fill()
        let error = await #expect(throws: TaskError.self) { try await fixture.session.submit(post) }
        #expect(error?.reason == .diskFull)
        #expect(error?.underlying == "the disk of the journal \(disk.directory.journalFile) is full")
        await #expect(throws: TaskError.self) { try await fixture.session.suspend(made.id) }

        fixture.paths.say(ScriptedPathSource.routed())
        let isHeld = await eventually {
            if case .waiting(.disk, _)? = fixture.session.task(withID: made.id)?.info.state { true } else { false }
        }
        #expect(isHeld, "\(String(describing: fixture.session.task(withID: made.id)?.info.state))")
        #expect(server.requests.isEmpty)
        disk.empty()
        #expect(try await fixture.end(of: made.id)?.outcome == .success)
        #expect(server.requests.count == 1)
        await fixture.stop()
        #expect(try await JournalFixture.peek(disk.directory, made.id)?.end?.outcome == .success)
    }

    @Test(
        "A disk that is full at the start is reported, and the tasks in the journal are kept",
        .enabled(if: mayMount, "needs root"))
    func fullAtStart() async throws {
        let disk = try #require(try SmallDisk(), "no tmpfs can be mounted here")
        let first = try JournalFixture(disk.directory)
        let made = try await first.session.submit(try TaskRequest(url: "http://127.0.0.1:1/"), isSuspended: true)
        await first.stop()
        disk.fill()
        let error = #expect(throws: JournalOpenError.self) { try Journal(disk.directory.state).close() }
        #expect(
            error?.description == "the journal cannot be kept in \(disk.directory.journalFile): the disk is full")
        disk.empty()
        let entry = try await JournalFixture.peek(disk.directory, made.id)
        #expect(entry?.suspensions == 1)
    }

    @Test(
        "A disk that fills during an upgrade leaves the journal of the old version, and nothing else",
        .enabled(if: mayMount, "needs root"))
    func fullAtUpgrade() async throws {
        let disk = try #require(try SmallDisk(), "no tmpfs can be mounted here")
        let first = try JournalFixture(disk.directory)
        let made = try await first.session.submit(try TaskRequest(url: "http://127.0.0.1:1/"), isSuspended: true)
        await first.stop()
        var migrator = JournalSchema.migrator
        migrator.registerMigration("later") { try $0.execute(sql: "ALTER TABLE task ADD COLUMN later TEXT") }
        // Enough to open the journal, and too little for a copy of it.
        disk.fill(leaving: 40_960)
        let error = #expect(throws: JournalOpenError.self) {
            try JournalFile(directory: disk.directory.state, migrator: migrator)
        }
        #expect(error?.description == "the journal cannot be kept in \(disk.directory.journalFile): the disk is full")
        let files = try FileManager.default.contentsOfDirectory(atPath: disk.directory.state)
        #expect(!files.contains { $0.contains("version") }, "\(files)")
        disk.empty()
        #expect(try await JournalFixture.peek(disk.directory, made.id)?.suspensions == 1)
    }

    @Test("A new journal on a full disk is refused, naming the cause", .enabled(if: mayMount, "needs root"))
    func newOnFull() throws {
        let disk = try #require(try SmallDisk(), "no tmpfs can be mounted here")
        disk.fill()
        let error = #expect(throws: JournalOpenError.self) { try Journal(disk.directory.state).close() }
        #expect(error?.description.hasSuffix(": the disk is full") == true, "\(error?.description ?? "")")
    }
}
