import Foundation
import Testing
import TidegateTestKit

/// A folder of its own and the programs of one end-to-end test, ended by their ids when it is over.
final class EndToEndFixture {
    let folder: URL
    private var programs: [Program] = []

    init() throws {
        self.folder = FileManager.default.temporaryDirectory.appendingPathComponent("tidegate-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
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

    func tidyUp() async {
        for program in self.programs.reversed() {
            program.signal(SIGTERM)
            _ = await program.finish(within: .seconds(10))
        }
        try? FileManager.default.removeItem(at: self.folder)
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
