internal import HTTPTypes
import Foundation
import Testing
import Tidegate

@testable import TidegateDaemon

@Suite struct ScheduledRequestTests {
    private func task(_ more: String) throws -> ScheduledTask {
        let text = "tasks: [{name: a, url: \"http://a.example/x\", every: 1m\(more)}]"
        return try #require(try Configuration.parse(text, file: "t.yml").tasks.first)
    }

    @Test("A task that says nothing more is a GET whose body is discarded")
    func plain() throws {
        let request = try self.task("").request(under: .init())
        #expect(request.method == "GET" && request.url == "http://a.example/x" && request.options.name == "a")
        #expect(request.destination == .discard && request.options.deadline == nil)
        #expect(request.options.retry == RetryPolicy() && request.options.gate == GatePolicy())
    }

    @Test("A download is continued after a restart, with the mode asked for")
    func download() throws {
        let request = try self.task(", download: /tmp/x, mode: \"0600\"").request(under: .init())
        #expect(request.destination == .file("/tmp/x", permissions: 0o600, continues: true))
    }

    @Test("The time of a run bounds what it may be on the wire, not what it waits for a path")
    func timeout() throws {
        let request = try self.task(", timeout: 10m").request(under: .init())
        #expect(request.options.attemptTimeout == .seconds(600) && request.options.deadline == nil)
        #expect(request.options.retry?.maxElapsed == .seconds(600))
    }

    @Test("A task's own retry and gate stand before those of all transfers")
    func policies() throws {
        var transfers = Configuration.Transfers()
        transfers.retry.attempts = 9
        transfers.retry.base = .seconds(2)
        transfers.session.gate.patience = .seconds(30)
        let request = try self.task(", require: [unmetered], retry: {attempts: 2}").request(under: transfers)
        #expect(request.options.retry?.attempts == 2 && request.options.retry?.base == .seconds(2))
        #expect(request.options.gate?.require == [.unmetered] && request.options.gate?.patience == .seconds(30))
    }

    @Test("A form is a POST whose files are read at each run; a file that is gone fails the run")
    func form() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString)").path
        let task = try self.task(", form: {\"a=b\": \"@c\", f: \"@\(file)\"}, compressed: true, cookies: true")
        let error = #expect(throws: TextError.self) { try task.request(under: .init()) }
        #expect(error?.description.contains("\"form\": ") == true && error?.description.contains(file) == true)
        try "contents".write(toFile: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: file) }
        let request = try task.request(under: .init())
        #expect(request.method == "POST" && request.options.acceptsCompression && request.options.usesCookies == true)
        #expect(request.headers.first(named: .contentType)?.hasPrefix("multipart/form-data; boundary=") == true)
        let bytes: [UInt8]? = if case .data(let bytes) = request.body { bytes } else { nil }
        let body = String(decoding: try #require(bytes), as: UTF8.self)
        #expect(body.contains("name=\"a=b\"\r\n\r\n@c\r\n") && body.contains("\r\n\r\ncontents\r\n"))
        let both = #expect(throws: ConfigurationError.self) {
            try self.task(", form: {a: b}, body_file: /x, method: PUT")
        }
        #expect(both?.description.hasSuffix("\"body_file\" and \"form\" are mutually exclusive") == true)
        let alone = #expect(throws: ConfigurationError.self) { try self.task(", conditional: true") }
        #expect(alone?.description.hasSuffix("\"conditional\" requires \"download\"") == true)
    }

    @Test("Headers come from the file at every turn; a file that is gone fails the turn")
    func headersFile() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString)").path
        let task = try self.task(", headers: {A: 1}, headers_file: \(file)")
        #expect(throws: TextError("\(file): cannot be read: No such file or directory")) {
            try task.request(under: .init())
        }
        try "# a comment\nAuthorization: Bearer x\n\n".write(toFile: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: file) }
        try "A: b\nBearer hunter2\n".write(toFile: file, atomically: true, encoding: .utf8)
        #expect(throws: TextError("\(file):2: expected 'Name: value'")) { try task.request(under: .init()) }
        try "# a comment\nAuthorization: Bearer x\n\n".write(toFile: file, atomically: true, encoding: .utf8)
        let headers = try task.request(under: .init()).headers
        #expect(try headers == [HTTPField("A", "1"), HTTPField("Authorization", "Bearer x")])
    }
}
