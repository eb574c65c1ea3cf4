import Glibc
import Testing
import TidegateStore
import TidegateCore
import TidegateSession
import TidegateTestKit

/// A journal on a disk without room.
@Suite(.timeLimit(.minutes(1)))
struct FullDiskTests {
    /// A file system of two mebibytes under a folder's state directory.
    private final class SmallDisk {
        let folder: Folder
        private var filler: Int32 = -1

        init?() throws {
            self.folder = try Folder()
            mkdir(self.folder.state, 0o700)
            guard mount("tidegate", self.folder.state, "tmpfs", 0, "size=2m,mode=0700") == 0 else { return nil }
        }

        deinit {
            close(self.filler)
            umount2(self.folder.state, Int32(MNT_DETACH))
        }

        func fill() {
            self.filler = open("\(self.folder.state)/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
            let block = [UInt8](repeating: 1, count: 4096)
            while write(self.filler, block, block.count) > 0 {}
        }

        func empty() { ftruncate(self.filler, 0) }
    }

    private static let mayMount = geteuid() == 0

    @Test(
        "On a full disk nothing is accepted, what was accepted waits unsent, and goes on when there is room",
        .enabled(if: mayMount, "needs root"))
    func full() async throws {
        let disk = try #require(try SmallDisk(), "no tmpfs can be mounted here")
        let server = try LiveServer { .respond(text: $0.path) }
        defer { server.stop() }
        let rig = try JournalRig(disk.folder)
        rig.paths.say(ScriptedPathSource.lost())
        let post = try TaskRequest(url: server.url("/post"), method: "POST", body: .data([1]))
        let made = try await rig.session.submit(post)
        disk.fill()
        let error = await #expect(throws: TaskError.self) { try await rig.session.submit(post) }
        #expect(error?.reason == .diskFull)
        #expect(error?.underlying == "the disk of the journal \(disk.folder.journalFile) is full")
        await #expect(throws: TaskError.self) { try await rig.session.suspend(made.id) }

        rig.paths.say(ScriptedPathSource.routed())
        let holds = await eventually {
            if case .waiting(.disk, _)? = rig.session.task(made.id)?.state { true } else { false }
        }
        #expect(holds, "\(String(describing: rig.session.task(made.id)?.state))")
        #expect(server.requests.isEmpty)
        disk.empty()
        #expect(try await rig.end(of: made.id)?.outcome == .success)
        #expect(server.requests.count == 1)
        await rig.stop()
        #expect(try await JournalRig.peek(disk.folder, made.id)?.end?.outcome == .success)
    }

    @Test(
        "A disk that is full at the start is told in one sentence, and what is in the journal goes on when there is room",
        .enabled(if: mayMount, "needs root"))
    func fullAtStart() async throws {
        let disk = try #require(try SmallDisk(), "no tmpfs can be mounted here")
        let first = try JournalRig(disk.folder)
        let made = try await first.session.submit(try TaskRequest(url: "http://127.0.0.1:1/"), isSuspended: true)
        await first.stop()
        disk.fill()
        let error = #expect(throws: JournalProblem.self) { try Journal(disk.folder.state).close() }
        #expect(
            error?.description == "the journal cannot be kept in \(disk.folder.journalFile): the disk is full")
        disk.empty()
        let entry = try await JournalRig.peek(disk.folder, made.id)
        #expect(entry?.suspensions == 1)
    }

    @Test("A new journal on a full disk is refused in one sentence", .enabled(if: mayMount, "needs root"))
    func newOnFull() throws {
        let disk = try #require(try SmallDisk(), "no tmpfs can be mounted here")
        disk.fill()
        let error = #expect(throws: JournalProblem.self) { try Journal(disk.folder.state).close() }
        #expect(error?.description.hasSuffix(": the disk is full") == true, "\(error?.description ?? "")")
    }
}
