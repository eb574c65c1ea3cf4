import Foundation
import Glibc
import Testing
import TidegateTestKit

/// The panels about other programs' connections, while such programs connect, are refused, reset, left hanging and cut.
@Suite(
    .enabled(
        if: Prometheus.isInstalled && NetworkNamespace.isAvailable,
        "needs root, ip(8) and prometheus (Debian package prometheus)"),
    .timeLimit(.minutes(5)))
struct ConnectionDashboardTests {
    /// What a panel has to show above 0 at some time: the values of a label.
    private static let expected: [(panel: String, label: String, values: Set<String>)] = [
        ("Failures, by whose they were", "party", ["theirs"]),
        (
            "Failures, by what happened", "outcome",
            ["refused", "unreachable", "no_answer", "not_sent", "reset", "lost"]
        ),
        ("Hanging connections", "kind", ["connecting", "unanswered", "window"]),
        ("Connections that began to hang", "kind", ["connecting", "unanswered", "window"]),
        (
            "Connects", "outcome",
            ["established", "refused", "unreachable", "no_answer", "not_sent", "abandoned"]
        ),
        ("Ends", "outcome", ["closed", "reset", "lost", "aborted"]),
        ("Connections to targets", "target", ["api"]),
        ("Failed connects to targets", "target", ["shut"]),
        ("Broken connections to targets", "target", ["resetting"]),
        ("Silence of targets", "target", ["api"]),
        ("Bytes", "direction", ["in", "out"]),
        ("Sent again", "direction", ["out"]),
        ("Messages", "group", ["tcp4"]),
        ("Time of lists", "kind", ["connecting", "established", "listeners"]),
        ("Accepted connections", "", []), ("Opened", "", []), ("Kept in mind", "", []), ("Receive buffer", "", []),
        ("Segments sent again", "", []), ("Hanging", "", []), ("Connections", "", []),
        ("Observed by", "mode", ["event"]),
    ]

    private let hosts: ThreeHosts
    private let bench: EndToEndFixture

    init() throws {
        (self.hosts, self.bench) = (try ThreeHosts(), try EndToEndFixture())
    }

    @Test("Every panel has data, of everything that happens, when programs beside the daemon connect")
    func panels() async throws {
        try ThreeHosts.filter(self.hosts.gateway, Self.rules)
        try await self.bench.start(
            self.hosts.far.inside(["python3", "-u", "-c", Self.services]), until: "listening")
        let unreachable = try await UnreachableNetwork.start(behind: self.hosts.gateway)
        defer { unreachable.signal(SIGKILL) }
        let serve = try await self.startDaemon()
        let prometheus = try await Prometheus(scraping: 9843, prefix: self.hosts.here.inside())
        defer { prometheus.stop() }
        try await prometheus.scraped(2)
        let start = Date().timeIntervalSince1970

        let apps = try await self.bench.start(
            self.hosts.here.inside(["python3", "-u", "-c", Self.apps]), until: "listening")
        let peers = try self.bench.start(self.hosts.far.inside(["python3", "-u", "-c", Self.peers]))
        let dashboard = try Dashboard(named: "connections")
        let isAllSeen = try await eventually {
            let span = (start, Date().timeIntervalSince1970)
            return try await self.missing(in: dashboard, prometheus, span).isEmpty
        }
        let span = (start, Date().timeIntervalSince1970)
        let missing = try await self.missing(in: dashboard, prometheus, span)
        #expect(isAllSeen, "\(missing) \(apps.errorsSoFar) \(peers.errorsSoFar) \(serve.log)")
        try await dashboard.expectData(from: prometheus, in: span)
        try await self.checkOverview(prometheus, span)
        await serve.stop()
    }

    /// What no panel has shown yet.
    private func missing(
        in dashboard: Dashboard, _ prometheus: Prometheus, _ span: (Double, Double)
    ) async throws -> [String] {
        var missing: [String] = []
        for (panel, label, values) in Self.expected {
            let grown = try await dashboard.history(of: panel, prometheus, span)
                .filter { series in series.points.contains { $0.value.isFinite && $0.value > 0 } }
            let found = Set(grown.compactMap { $0.labels[label] })
            if grown.isEmpty || !values.isSubset(of: found) { missing.append("\(panel): \(values.subtracting(found))") }
        }
        return missing
    }

    /// Other programs' failures are the servers'; the daemon has made no request, and its resolver refuses queries.
    private func checkOverview(_ prometheus: Prometheus, _ span: (Double, Double)) async throws {
        let overview = try Dashboard(named: "overview")
        for title in ["Now", "Responsible party over time"] {
            let panel = try #require(overview.charts.first { $0.title == title })
            let names = try #require(panel.targets).map(\.legendFormat)
            #expect(names == ["{{instance}}, own requests", "{{instance}}, other programs"])
            let own = try await overview.history(of: title, prometheus, span).flatMap(\.points).map(\.value).max()
            // In the mappings 5 is the resolver.
            #expect(own == 5, "\(title)")
            let others = try await overview.history(of: title, query: 1, prometheus, span)
            // In the mappings 3 is the server; 4 is what is on the way, where no host is.
            #expect(Set(others.flatMap(\.points).map(\.value)).isSuperset(of: [3, 4]), "\(title)")
        }
        for title in ["Failed connections", "Failed connections by party"] {
            let parties = try await overview.history(of: title, prometheus, span)
                .filter { series in series.points.contains { $0.value > 0 } }.compactMap { $0.labels["party"] }
            #expect(Set(parties).isSuperset(of: ["theirs", "path"]), "\(title)")
        }
    }

    private func startDaemon() async throws -> RunningDaemon {
        // Nothing listens at its port 53: the resolver's failure.
        try self.bench.write("nameserver \(ThreeHosts.farAddress.ipv4)\n", to: "resolv.conf")
        let resolvers = [
            "sh", "-c", "mount --bind \"$0\" /etc/resolv.conf && exec \"$@\"", self.bench.path("resolv.conf"),
        ]
        return try await self.bench.startDaemon(
            """
            reachability:
              targets:
                - {name: api, host: \(ThreeHosts.farAddress.ipv4), port: 9000, check: none}
                - {name: resetting, host: \(ThreeHosts.farAddress.ipv4), port: 9002, check: none}
                - {name: shut, host: \(ThreeHosts.farAddress.ipv4), port: 9, check: none}
            """, prefix: self.hosts.here.inside(resolvers))
    }

    // MARK: What the programs do

    /// A port without an answer, and one where established connections are cut.
    private static let rules = """
        table inet t { chain f { type filter hook forward priority 0;
          tcp dport 81 drop
          tcp dport 9005 ct original packets > 4 drop
        }; }
        """

    /// 9000 answers and closes, 9001 keeps what it accepts and never reads, 9002 resets.
    private static let services = """
        import socket, struct, threading, time
        kept = []
        def serve(port, handle):
            listener = socket.create_server(("", port), backlog=64)
            def loop():
                while True: handle(listener.accept()[0])
            threading.Thread(target=loop, daemon=True).start()
        def answer(connection):
            connection.recv(65536)
            connection.sendall(b"x" * 1000)
            connection.close()
        def reset(connection):
            connection.recv(1)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
        serve(9000, answer)
        serve(9001, kept.append)
        serve(9002, reset)
        serve(9005, kept.append)
        print("listening", flush=True)
        time.sleep(600)
        """

    /// Everything again and again, each in a thread of its own; and a server for the far host's program.
    private static let apps = """
        import socket, struct, threading, time
        far = "\(ThreeHosts.farAddress.ipv4)"
        def connect(port, host=far, limit=4):
            connection = socket.socket()
            connection.settimeout(limit)
            connection.connect((host, port))
            return connection
        def works():
            connection = connect(9000)
            time.sleep(2)
            connection.sendall(b"hello")
            while connection.recv(4096): pass
            connection.close()
        def resets():
            connection = connect(9002)
            connection.sendall(b"x")
            time.sleep(0.2)
            connection.close()
        def aborts():
            connection = connect(9001)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
        def floods():
            connection = connect(9001, limit=8)
            try: connection.sendall(b"x" * (32 << 20))
            finally: connection.close()
        def is_cut():
            connection = connect(9005)
            connection.setsockopt(socket.IPPROTO_TCP, 18, 4000)
            try:
                while True:
                    connection.sendall(b"x")
                    time.sleep(0.2)
            finally: connection.close()
        def gives_up():
            connection = socket.socket()
            connection.setblocking(False)
            connection.connect_ex((far, 81))
            connection.close()
        def server():
            listener = socket.create_server(("", 8000))
            print("listening", flush=True)
            while True:
                connection = listener.accept()[0]
                connection.recv(100)
                connection.sendall(b"y" * 100)
                connection.close()
        def again(action):
            while True:
                try: action()
                except OSError: pass
                time.sleep(0.5)
        actions = [works, resets, aborts, floods, is_cut, gives_up, server, lambda: connect(9), lambda: connect(81),
                   lambda: connect(82, host="203.0.113.9"), lambda: connect(80, host="10.0.0.77", limit=5)]
        for action in actions: threading.Thread(target=again, args=(action,), daemon=True).start()
        time.sleep(600)
        """

    private static let peers = """
        import socket, time
        while True:
            try:
                connection = socket.create_connection(("10.0.0.2", 8000), timeout=4)
                connection.sendall(b"hello")
                while connection.recv(4096): pass
                connection.close()
            except OSError: pass
            time.sleep(0.2)
        """
}
