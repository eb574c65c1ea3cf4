import Foundation
import Glibc
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateDaemon

/// Sockets that a service manager opens (sd_listen_fds(3)); a script stands in its place.
@Suite(.timeLimit(.minutes(5))) struct InheritedSocketsTests {
    /// Opens sockets, and starts the daemon with them twice, each time once a file says so.
    ///
    /// Prints the port first, and the status of each daemon that has ended.
    private static let manager = """
        import os, socket, sys, time
        path, gate, program = sys.argv[1], sys.argv[2], sys.argv[3:]
        tcp = socket.create_server(("127.0.0.1", 0))
        unix = socket.socket(socket.AF_UNIX)
        unix.bind(path)
        unix.listen()
        print(tcp.getsockname()[1])
        for start in range(1, 3):
            while not os.path.exists(gate + str(start)): time.sleep(0.01)
            child = os.fork()
            if child == 0:
                # Behind both targets: a socket that is one of them would be overwritten.
                sockets = [os.dup2(one.fileno(), 20 + place) for place, one in enumerate([tcp, unix])]
                for place, one in enumerate(sockets): os.dup2(one, 3 + place)
                os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="2")
                os.execv(program[0], program)
            print("started", child)
            print("ended", os.waitstatus_to_exitcode(os.wait()[1]))
        time.sleep(60)
        """

    private static func folder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "inherited-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    private static func serve(_ folder: URL) -> [String] {
        [
            BuiltProduct.path(of: "tidegate"), "serve", "--state.dir", folder.path, "--web.listen-address",
            "192.0.2.1:1", "--control.socket", folder.appending(path: "other").path,
        ]
    }

    @Test("Endpoint and control socket are the inherited ones, and clients wait during a restart")
    func restart() async throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let control = folder.appending(path: "control").path
        let gate = folder.appending(path: "start").path
        let manager = try Program(["python3", "-u", "-c", Self.manager, control, gate] + Self.serve(folder))
        defer { kill(-manager.id, SIGKILL) }
        func lines(_ prefix: String) -> [Substring] {
            manager.outputSoFar.split(separator: "\n").filter { $0.hasPrefix(prefix) }
        }
        let port = try #require(
            await eventualValue { manager.outputSoFar.split(separator: "\n").first }, "\(manager.errorsSoFar)")
        let tasks = [BuiltProduct.path(of: "tidegate"), "tasks", "list", "--control.socket", control]
        for round in 1...2 {
            // Without a daemon, the kernel keeps the client in the queue of the manager's socket.
            let client = try Program(["curl", "-svf", "--max-time", "60", "http://127.0.0.1:\(port)/-/healthy"])
            #expect(await eventually { client.errorsSoFar.contains("GET /-/healthy") }, "\(client.errorsSoFar)")
            #expect(lines("started").count == round - 1 && client.outputSoFar.isEmpty)
            try Data().write(to: URL(filePath: gate + "\(round)"))
            #expect(await client.finish().status == 0, "\(round): \(manager.errorsSoFar)")
            #expect(try await Program.run(tasks).status == 0)
            let child = try #require(lines("started").last?.split(separator: " ").last.flatMap { Int32($0) })
            kill(child, SIGTERM)
            #expect(await eventually { lines("ended").count == round })
        }
        #expect(lines("ended") == ["ended 0", "ended 0"], "\(manager.errorsSoFar)")
        // The manager's socket is the manager's to remove.
        #expect(access(control, F_OK) == 0)
        #expect(access(folder.appending(path: "other").path, F_OK) != 0)
    }

    @Test(
        "A descriptor with which nothing can be done stops the daemon in one sentence",
        arguments: [
            ("", "descriptor 3 of LISTEN_FDS is not a listening stream socket"),
            ("3<&-", "descriptor 3 of LISTEN_FDS is not a listening stream socket"),
        ])
    func refused(redirection: String, message: String) async throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let script = "export LISTEN_PID=$$ LISTEN_FDS=1; exec \"$@\" 3</dev/null \(redirection)"
        let output = try await Program.run(["sh", "-c", script, "sh"] + Self.serve(folder))
        #expect(output.status == 1 && output.errors.split(separator: "\n").last == "tidegate: \(message)", "\(output)")
    }

    @Test("Sockets for another process, and no sockets, are none")
    func others() throws {
        for values in [[:], ["LISTEN_PID": "6", "LISTEN_FDS": "1"], ["LISTEN_PID": "7", "LISTEN_FDS": "x"]] {
            let sockets = try InheritedSockets(environment: { values[$0] }, process: 7)
            #expect(sockets.addresses.isEmpty && sockets.control == nil)
        }
    }
}
