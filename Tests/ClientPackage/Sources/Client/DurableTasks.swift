import Foundation
import Tidegate
import TidegateStore

/// Accepts a task in a journal.
///
/// Once `submit` returns, the task is kept even if the process is killed.
func submitReport(from server: URL, in folder: String) async throws {
    let journal = try Journal(directory: "\(folder)/state")
    let monitor = try Monitor(journal: journal.tasks)
    // Suspended, so that it is certain which of the two processes carries it out.
    let submission = try await monitor.session.submit(
        try reportRequest(from: server, in: folder), key: "report", isSuspended: true)
    try expect(submission.isNew, "the key was known to a new journal")
    await monitor.stop()
    journal.close()
}

/// The next process: continues what the last one has left, and waits for it to end.
func finishReport(from server: URL, in folder: String) async throws {
    let journal = try Journal(directory: "\(folder)/state")
    let monitor = try Monitor(journal: journal.tasks)
    try await monitor.session.restore()
    // The same key finds the task that was accepted, so that an app may submit it at every start.
    let submission = try await monitor.session.submit(try reportRequest(from: server, in: folder), key: "report")
    try expect(!submission.isNew, "the task was not restored")
    _ = try await monitor.session.resume(submission.id)
    guard let result = await monitor.session.task(withID: submission.id)?.result() else {
        throw Failure(description: "the restored task is not known")
    }
    print(result)
    try expect(result.outcome == .success, "the restored task ended as \(result.outcome)")
    try expect(FileManager.default.fileExists(atPath: "\(folder)/report.json"), "the report is missing")
    await monitor.stop()
    journal.close()
}

private func reportRequest(from server: URL, in folder: String) throws -> TaskRequest {
    var request = try TaskRequest(url: server.appendingPathComponent("api/v1/status").absoluteString)
    request.destination = .file("\(folder)/report.json")
    return request
}
