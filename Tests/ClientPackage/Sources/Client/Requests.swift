import Foundation
import Tidegate

/// Fetches a small answer, downloads a file, and reads a refusal.
func makeRequests(with monitor: Monitor, to server: URL, in folder: String) async throws {
    let (status, response) = try await monitor.session.data(for: server.appendingPathComponent("api/v1/status"))
    print(response.status, "with", status.count, "bytes")

    let file = "\(folder)/page.html"
    var received: Int64 = 0
    let result = try await monitor.session.download(server.absoluteString, to: file) { progress in
        received = progress.receivedWire
    }
    print(result)
    try expect(FileManager.default.contents(atPath: file)?.count == Int(received), "progress ends at \(received)")

    do {
        _ = try await monitor.session.data(for: server.appendingPathComponent("absent"))
        throw Failure(description: "a page that does not exist was answered")
    } catch let error as TaskError {
        print(error.reason, error.status ?? 0, String(decoding: error.body, as: UTF8.self))
        try expect(error.status == 404, "a missing page fails as \(error)")
    }
}

/// Reads a download while it comes in.
func readDownload(of monitor: Monitor, to server: URL, in folder: String) async throws {
    var request = try TaskRequest(url: server.absoluteString)
    request.destination = .file("\(folder)/read.html")
    let task = monitor.session.makeTask(request)
    let chunks = task.fileChunks()
    task.resume()
    var bytes = 0
    for try await chunk in chunks { bytes += chunk.count }
    let file = FileManager.default.contents(atPath: "\(folder)/read.html")
    try expect(bytes > 0 && file?.count == bytes, "\(bytes) bytes of the file were read")
}

/// Keeps a task's handle: its options, its progress, its end, and the events about it.
func followTask(of monitor: Monitor, to server: URL) async throws {
    var request = try TaskRequest(url: server.absoluteString)
    request.options.name = "page"
    request.options.priority = 10
    request.options.deadline = .seconds(60)
    request.options.retry = RetryPolicy(attempts: 3)
    let task = monitor.session.makeTask(request)
    let (updates, events) = (task.progress, task.events())

    task.resume()
    for await progress in updates { print(progress.attempt, progress.receivedWire) }
    var last = ""
    for await event in events { last = event.name }
    print(await task.result())
    try expect(last == "task.completed", "the last event of a task is \(last)")
}
