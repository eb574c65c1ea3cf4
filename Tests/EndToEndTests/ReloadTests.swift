import Foundation
import Testing
import TidegateTestKit

/// New modules for a sidecar that runs, by POST and by signal.
@Suite(.timeLimit(.minutes(5))) struct ReloadTests {
    private static let successful = "tidegate_config_last_reload_successful"
    private static let timestamp = "tidegate_config_last_reload_success_timestamp_seconds"

    /// How a reload is asked for.
    enum Way: CaseIterable { case post, signal }

    @Test(
        "A changed module holds for the next probe; a bad file keeps the old one and its time", arguments: Way.allCases)
    func reload(_ way: Way) async throws {
        let sidecar = try await ReloadedSidecar("modules: {m: {prober: http, http: {valid_status_codes: [204]}}}\n")
        #expect(try await sidecar.probe() == 0)

        try await sidecar.reload("modules: {m: {prober: http, http: {valid_status_codes: [200]}}}\n", way)
        #expect(try await sidecar.probe() == 1, "the changed module")
        let good = try await sidecar.metrics()
        #expect(good[Self.successful] == 1)

        try await sidecar.reload("modules: {m: {prober: http, http: {valid_status_codes: [20]}}}\n", way, isGood: false)
        #expect(try await sidecar.probe() == 1, "the former module")
        let bad = try await sidecar.metrics()
        #expect(bad[Self.successful] == 0 && bad[Self.timestamp] == good[Self.timestamp])

        try await sidecar.reload("modules: {m: {prober: http, http: {valid_status_codes: [204]}}}\n", way)
        #expect(try await sidecar.probe() == 0, "the last module")
        let repaired = try await sidecar.metrics()
        #expect(repaired[Self.successful] == 1)
        let (later, earlier) = (try #require(repaired[Self.timestamp]), try #require(good[Self.timestamp]))
        #expect(later > earlier)
    }

    @Test("A failed POST names the file and line that are wrong, and GET is refused")
    func answers() async throws {
        let sidecar = try await ReloadedSidecar("modules: {m: {prober: http}}\n")
        try sidecar.write("modules:\n  m: {prober: htp}\n")
        let failed = try await sidecar.ask("-X", "POST")
        #expect(failed.status == 500)
        #expect(
            failed.text.hasPrefix("failed to reload config: \(sidecar.file):2: modules.m.prober: ")
                && failed.text.hasSuffix("; the former configuration stays\n"), "\(failed.text)")
        #expect(try await sidecar.ask("-X", "GET").status == 405)
        try sidecar.write("modules: {m: {prober: http}}\n")
        let repeated = try await sidecar.ask("-X", "POST")
        #expect(repeated.status == 200 && repeated.text == "Reloaded.\n", "a file that is as it was")
    }

    @Test("The retry policy of a reloaded file holds for tasks that are submitted after it")
    func submittedTasks() async throws {
        let sidecar = try await ReloadedSidecar("transfers: {retry: {attempts: 2, base: 10ms}}\n")
        #expect(try await sidecar.attempts(ofTask: "/first") == 2)
        try await sidecar.reload("transfers: {retry: {attempts: 3, base: 10ms}}\n", .post)
        #expect(try await sidecar.attempts(ofTask: "/second") == 3)
    }

    @Test("A signal that comes while the sidecar starts has the file read again")
    func early() async throws {
        let bench = try EndToEndFixture()
        defer { bench.end() }
        let daemon = try await bench.startDaemon(
            "modules: {m: {prober: tcp}}\n", port: try FreePort.find(), isAwaited: false)
        // Logged when the file has been read, before anything else starts.
        try #require(await eventually { daemon.log.contains("msg=starting") }, "\(daemon.log)")
        daemon.program.signal(SIGHUP)
        #expect(await eventually { daemon.log.contains("configuration reloaded") }, "\(daemon.log)")
    }

    @Test("A reload of an unchanged file leaves the page's probes as they are")
    func unchanged() async throws {
        let sidecar = try await ReloadedSidecar("modules: {m: {prober: http, http: {valid_status_codes: [200]}}}\n")
        #expect(try await sidecar.probe() == 1)
        #expect(try await sidecar.ask("-X", "POST").status == 200)
        #expect(try await sidecar.status(of: "/logs?id=1") == 200)
    }
}

/// `tidegate serve` with a file of modules, and a server that it probes.
private final class ReloadedSidecar {
    private let bench: EndToEndFixture
    private let server: LiveServer
    private let daemon: RunningDaemon

    var file: String { self.bench.path("tidegate.yml") }

    init(_ modules: String) async throws {
        self.bench = try EndToEndFixture()
        // Paths of tasks fail, so that they are tried again.
        self.server = try LiveServer { request in
            .respond(request.path.hasPrefix("/task/") ? 503 : 200, text: request.path)
        }
        self.daemon = try await self.bench.startDaemon(modules, port: try FreePort.find())
    }

    deinit { self.server.stop() }

    func write(_ modules: String) throws { try self.bench.write(modules, to: "tidegate.yml") }

    /// Writes the file and waits until it is taken or refused.
    func reload(_ modules: String, _ way: ReloadTests.Way, isGood: Bool = true) async throws {
        try self.write(modules)
        switch way {
        case .post:
            let answer = try await self.ask("-X", "POST")
            #expect(answer.status == (isGood ? 200 : 500), "\(answer)")
        case .signal:
            let text = isGood ? "msg=\"configuration reloaded\"" : "msg=\"invalid configuration\""
            let before = self.count(text)
            self.daemon.program.signal(SIGHUP)
            try #require(await eventually { self.count(text) > before }, "\(self.daemon.log)")
        }
    }

    private func count(_ text: String) -> Int { self.daemon.log.components(separatedBy: text).count }

    /// The answer of `/-/reload`.
    func ask(_ options: String...) async throws -> (status: Int, text: String) {
        let output = try await Program.expect(
            ["curl", "-s", "--max-time", "30", "-w", "%{http_code}"] + options + [self.daemon.url("/-/reload")])
        return (Int(output.suffix(3)) ?? 0, String(output.dropLast(3)))
    }

    func status(of path: String) async throws -> Int {
        Int(try await self.daemon.get(path, ["-o", "/dev/null", "-w", "%{http_code}"])) ?? 0
    }

    /// Whether a probe by the module `m` succeeds.
    func probe() async throws -> Double? {
        try await self.daemon.probe("m", self.server.url("/x"))["probe_success"]
    }

    /// How often a task is sent that is submitted without a policy of its own, and fails each time.
    func attempts(ofTask path: String) async throws -> Int {
        let (program, socket) = (BuiltProduct.path(of: "tidegate"), ["--control.socket", self.bench.socket])
        try await Program.expect([program, "tasks", "submit", self.server.url("/task\(path)"), "--key", path] + socket)
        let end = try await Program.run([program, "tasks", "wait", path] + socket)
        #expect(end.status != 0, "\(end)")
        return self.server.requests.count { $0.path == "/task\(path)" }
    }

    func metrics() async throws -> Samples { try await self.daemon.metrics() }
}
