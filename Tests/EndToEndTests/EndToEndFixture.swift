import Foundation
import Testing
import TidegateTestKit

/// A folder of its own and the programs of one end-to-end test, which end with it.
final class EndToEndFixture {
    let folder: URL
    private var programs: [Program] = []

    init() throws {
        self.folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
    }

    deinit { self.end() }

    /// Kills the programs with those that they have started, and removes the folder.
    func end() {
        for program in self.programs.reversed() { kill(-program.id, SIGKILL) }
        self.programs = []
        try? FileManager.default.removeItem(at: self.folder)
    }

    func path(_ name: String) -> String { self.folder.appendingPathComponent(name).path }

    func write(_ text: String, to name: String) throws {
        try text.write(toFile: self.path(name), atomically: true, encoding: .utf8)
    }

    func read(_ name: String) throws -> String { try String(contentsOfFile: self.path(name), encoding: .utf8) }

    /// The size of a file; 0 if it does not exist.
    func size(of name: String) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: self.path(name))[.size] as? Int) ?? 0
    }

    func start(_ arguments: [String]) throws -> Program {
        let program = try Program(arguments)
        self.programs.append(program)
        return program
    }

    /// Starts a program that prints `text` when it is ready, and waits for that.
    @discardableResult
    func start(_ arguments: [String], until text: String) async throws -> Program {
        let program = try self.start(arguments)
        let isReady = await eventually { program.outputSoFar.contains(text) }
        try #require(isReady, "\(arguments.prefix(6)): \(program.errorsSoFar)")
        return program
    }

    /// The control socket of the daemon.
    var socket: String { self.path("control.sock") }

    /// Starts the daemon with a configuration; its files are in the folder.
    ///
    /// - Parameters:
    ///   - port: Where it listens on 127.0.0.1; at the default port only in a namespace of its own.
    ///   - prefix: What runs it, and requests to it, in a namespace or as another user.
    ///   - isAwaited: Whether this waits until it is ready.
    func startDaemon(
        _ configuration: String, port: Int = 9843, prefix: [String] = [], flags: [String] = [],
        isAwaited: Bool = true
    ) async throws -> RunningDaemon {
        try self.write(configuration, to: "tidegate.yml")
        let command = [
            BuiltProduct.path(of: "tidegate"), "serve", "--config.file", self.path("tidegate.yml"), "--state.dir",
            self.path("state"), "--control.socket", self.socket, "--web.listen-address", "127.0.0.1:\(port)",
        ]
        let daemon = RunningDaemon(program: try self.start(prefix + command + flags), port: port, prefix: prefix)
        do {
            if isAwaited { try await Program.answers(daemon.url("/-/ready"), prefix: prefix) }
        } catch {
            Issue.record("\(daemon.log)")
            throw error
        }
        return daemon
    }

    /// Serves `folder` on the peer, `rate` bytes a second per connection, with a line per request in `access.log`.
    ///
    /// `servers` are further server blocks.
    func startNginx(on hosts: TwoHosts, rate: String, servers: String = "") async throws {
        try self.write(
            """
            daemon off; worker_processes 1; pid \(self.path("nginx.pid")); error_log \(self.path("nginx.err"));
            user root; events { worker_connections 256; }
            http {
              log_format short '$request_method $uri $status $body_bytes_sent $http_range';
              access_log \(self.path("access.log")) short;
              client_body_temp_path \(self.path("body")); proxy_temp_path \(self.path("proxy"));
              fastcgi_temp_path \(self.path("fastcgi")); uwsgi_temp_path \(self.path("uwsgi"));
              scgi_temp_path \(self.path("scgi"));
              send_timeout 30s;
              server { listen \(TwoHosts.peer):80; root \(self.folder.path); limit_rate \(rate); }
              \(servers)
            }
            """, to: "nginx.conf")
        let nginx = try self.start(hosts.onPeer(["nginx", "-c", self.path("nginx.conf")]))
        let isUp = await eventually {
            let answer = try? await Program.run(
                hosts.onThisSide(["curl", "-s", "-o", "/dev/null", "http://\(TwoHosts.peer)/nginx.conf"]))
            return answer?.status == 0
        }
        try #require(isUp, "nginx does not answer: \(nginx.errorsSoFar)")
    }
}

/// A running `tidegate serve`, and what it answers.
struct RunningDaemon {
    let program: Program
    let port: Int
    let prefix: [String]

    var log: String { self.program.errorsSoFar }

    func url(_ path: String) -> String { "http://127.0.0.1:\(self.port)\(path)" }

    /// The body of a response, which has to be a success.
    func get(_ path: String, _ options: [String] = []) async throws -> String {
        try await Program.expect(self.prefix + ["curl", "-sf", "--max-time", "30"] + options + [self.url(path)])
    }

    func metrics() async throws -> Samples { Samples(try await self.get("/metrics")) }

    /// One probe by a module, in the samples that Prometheus gets.
    func probe(_ module: String, _ target: String, _ options: [String] = []) async throws -> Samples {
        let query = ["-G", "--data-urlencode", "module=\(module)", "--data-urlencode", "target=\(target)"]
        return Samples(try await self.get("/probe", query + options))
    }

    /// Ends it as systemd does.
    func stop() async {
        self.program.signal(SIGTERM)
        let end = await self.program.finish()
        #expect(end.status == 0, "\(end)")
    }
}

/// The samples of an exposition in text, by series.
struct Samples {
    private let values: [String: Double]

    init(_ exposition: String) {
        self.values = exposition.split(separator: "\n").filter { !$0.hasPrefix("#") }.reduce(into: [:]) {
            guard let space = $1.lastIndex(of: " ") else { return }
            $0[String($1[..<space])] = Double($1[$1.index(after: space)...])
        }
    }

    subscript(_ series: String) -> Double? { self.values[series] }

    /// The series whose metrics' names begin so and whose values are not 0.
    func nonzero(_ prefix: String) -> [String: Double] {
        self.values.filter { $0.key.hasPrefix(prefix) && $0.value != 0 }
    }

    /// The sum over a metric's series; only over those with a label, if one is given.
    func sum(_ metric: String, containing label: String = "") -> Double {
        self.values.filter { $0.key == metric || $0.key.hasPrefix("\(metric){") }
            .filter { label.isEmpty || $0.key.contains(label) }.reduce(0) { $0 + $1.value }
    }
}
