import Foundation
import Tidegate

/// An app that uses every product with plain imports; each file is an example of the library's documentation.
///
/// Without arguments it runs all examples, and starts itself again for the task that survives its process.
@main
enum Client {
    static func main() async throws {
        let arguments = CommandLine.arguments
        if arguments.count == 4, arguments[1] == "submit", let server = URL(string: arguments[2]) {
            return try await submitReport(from: server, in: arguments[3])
        }
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("client-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let monitor = try Monitor()
        try await serve(monitor) { server in
            try await followPath(of: monitor, to: server)
            try await explain(monitor, server)
            try await attribute(with: monitor, to: server)
            try await observeConnections()
            try await checkTarget(server)
            try await callAPI(of: server)
            try await makeRequests(with: monitor, to: server, in: folder)
            try await readDownload(of: monitor, to: server, in: folder)
            try await followTask(of: monitor, to: server)
            try await useClient(of: monitor, to: server)
            try await checkHealth(over: monitor.session, of: server.absoluteString)
            try serialize(with: monitor, to: server, in: folder)
            try await callBack(from: monitor, to: server)
            try await manageTasks(of: monitor, to: server, in: folder)
            try await followEvents(of: monitor, to: server)
            try await trustOneKey(server)
            try await askForChanges(server, in: folder)
            try showState(of: monitor)
            try await traceRequests(to: server)
            try await printMetrics(of: monitor, from: server)
            try await runAgain("submit", server.absoluteString, folder)
            try await finishReport(from: server, in: folder)
            try await testWithoutNetwork(server)
        }
        await monitor.stop()
        print("client: all examples did what they say")
    }

    /// Runs this program once more, in a process of its own.
    private static func runAgain(_ arguments: String...) async throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
        process.arguments = arguments
        let status = try await withCheckedThrowingContinuation { waiter in
            process.terminationHandler = { waiter.resume(returning: $0.terminationStatus) }
            do { try process.run() } catch { waiter.resume(throwing: error) }
        }
        try expect(status == 0, "the first process exits with \(status)")
    }
}

/// What an example did not do.
struct Failure: Error, CustomStringConvertible {
    let description: String
}

func expect(_ isTrue: Bool, _ message: String) throws {
    guard isTrue else { throw Failure(description: message) }
}
