import Foundation
import Tidegate

private struct Order: Codable, Sendable, Equatable {
    var itemName: String
    var count: Int
}

/// Counts the lines of a response.
private struct LineCounter: ResponseSerializer {
    var rules = [ResponseRule.success]

    func decode(_ response: ReceivedResponse) -> Int { response.body.count { $0 == UInt8(ascii: "\n") } }
}

/// Sends and reads values with a client, follows several tasks as one, and exports what was exchanged.
func callAPI(of server: URL) async throws {
    var sessions = MonitorConfiguration()
    sessions.session.recordsExchanges = true
    let monitor = try Monitor(sessions)

    var configuration = HTTPClientConfiguration()
    configuration.jsonSerializer.encoder.keyEncodingStrategy = .convertToSnakeCase
    var json = JSONResponseSerializer<JSONValue>()
    json.decoder.keyDecodingStrategy = .convertFromSnakeCase
    configuration.responseSerializer = json
    configuration.prepare = { request in request.options.deadline = .seconds(20) }

    let echo = try EchoServer()
    defer { echo.stop() }
    let orders = try HTTPClient(baseURL: echo.url, session: monitor.session, configuration: configuration)
    let order = Order(itemName: "cable", count: 2)
    let accepted = try await orders.post("orders", json: order, as: Order.self)
    try expect(accepted == order, "the order came back as \(accepted)")

    let api = try HTTPClient(baseURL: server.absoluteString, session: monitor.session)
    let result = try await api.get("metrics", parameters: ["name[]": "tidegate_build_info"]) { progress in
        print(progress.receivedWire, "bytes")
    }
    let lines = try result.value(from: LineCounter())
    let text = try result.value(from: TextResponseSerializer())
    try expect(lines == text.count { $0 == "\n" }, "\(lines) lines in \(text)")

    do {
        _ = try await api.get("absent")
        throw Failure(description: "a page that does not exist was answered")
    } catch HTTPClientError.response(let error) {
        print(error.response.status, String(decoding: error.response.body, as: UTF8.self))
    } catch HTTPClientError.task(let error) {
        print(error.reason, error.attribution?.party.description ?? "no host was contacted")
    }
    try await followGroup(of: monitor, to: server)
    try export(result.task)
    await monitor.stop()
}

private func followGroup(of monitor: Monitor, to server: URL) async throws {
    let requests = try ["metrics", "api/v1/status"].map {
        try TaskRequest(url: server.appendingPathComponent($0).absoluteString)
    }
    let group = TransferGroup(requests.map { monitor.session.makeTask($0) })
    group.resume()
    for await progress in group.progress { print(progress.ended, "of", progress.tasks, progress.fraction ?? 0) }
    let failed = await group.results().filter { $0.outcome != .success }
    try expect(failed.isEmpty, "of two tasks these failed: \(failed)")
}

private func export(_ task: TransferTask) throws {
    let command = task.curlCommand()
    print(command.line)
    let archive = task.archive(creator: ("my-app", "1.0"))
    print(archive.text)
    try expect(command.line.hasPrefix("curl ") && command.line.contains("/metrics?"), "the command is \(command.line)")
    try expect(archive.text.contains("\"status\":200"), "the archive is \(archive.text)")
}

/// Answers every request with the request's body, as JSON.
private final class EchoServer: Sendable {
    let url: String
    private let listener: Int32

    init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 8) == 0 && getsockname(listener, $0, &size) == 0
            }
        }
        try expect(isBound, "no port for the echo server: \(errno)")
        (self.listener, self.url) = (listener, "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))")
        Thread.detachNewThread {
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                Self.answer(FileHandle(fileDescriptor: connection, closeOnDealloc: true))
            }
        }
    }

    /// Ends the thread that accepts.
    func stop() {
        shutdown(self.listener, Int32(SHUT_RDWR))
        close(self.listener)
    }

    private static func answer(_ connection: FileHandle) {
        var received = Data()
        while true {
            let chunk = connection.availableData
            received += chunk
            let parts = String(decoding: received, as: UTF8.self).components(separatedBy: "\r\n\r\n")
            let length = parts[0].lowercased().components(separatedBy: "content-length: ").last
                .flatMap { Int($0.prefix { $0.isNumber }) }
            guard chunk.isEmpty || parts.count > 1 && parts[1].utf8.count >= length ?? 0 else { continue }
            let body = parts.dropFirst().joined()
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
            try? connection.write(contentsOf: Data("\(head)Content-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8))
            return
        }
    }
}
