import Testing
import TidegateCore
import TidegateTestKit

/// The times of probes by blackbox_exporter and by tidegate, of a server that delays one known phase by a second.
@Suite(
    .enabled(if: BlackboxExporter.isInstalled, "prometheus-blackbox-exporter is not installed"),
    .enabled(if: NetworkNamespace.isAvailable, "needs root and ip(8)"),
    .enabled(if: TestAuthority.isAvailable, "openssl is not installed"),
    .enabled(if: QuietMachine.isAvailable, "needs a quiet machine"), .timeLimit(.minutes(5)), .serialized
)
struct BlackboxTimeTests {
    private static let delay = 1.0

    private static let modules = """
        modules:
          http: {prober: http, timeout: 8s, http: {preferred_ip_protocol: ip4}}
          tls: {prober: http, timeout: 8s, http: {preferred_ip_protocol: ip4, tls_config: {insecure_skip_verify: true}}}
          tcp: {prober: tcp, timeout: 8s, tcp: {preferred_ip_protocol: ip4}}
          dns: {prober: dns, timeout: 8s, dns: {preferred_ip_protocol: ip4, query_name: late.test, query_type: A}}
        """

    /// What is probed, and the series that contain the delay.
    struct Case: Sendable, CustomStringConvertible {
        let description: String
        let module: String
        let target: String
        let delayed: Set<String>

        init(_ description: String, _ module: String, _ target: String, _ delayed: Set<String>) {
            (self.description, self.module, self.target, self.delayed) = (description, module, target, delayed)
        }
    }

    private static func phase(_ name: String, of prober: String = "http") -> String {
        "probe_\(prober)_duration_seconds{phase=\"\(name)\"}"
    }

    private static let whole = "probe_duration_seconds"
    private static let lookup = "probe_dns_lookup_time_seconds"

    private static let cases = [
        Case("nothing", "http", "127.0.0.1:8080/", []),
        Case("the answer", "http", "127.0.0.1:8080/processing", [whole, phase("processing")]),
        Case("the body", "http", "127.0.0.1:8080/transfer", [whole, phase("transfer")]),
        Case("the answer after a redirect", "http", "127.0.0.1:8080/redirect", [whole, phase("processing")]),
        Case("the handshake", "tls", "https://127.0.0.1:8443/", [whole, phase("tls")]),
        Case("the first SYN, which is lost", "http", "127.0.0.1:8081/", [whole, phase("connect")]),
        Case("the first SYN of a tcp probe", "tcp", "127.0.0.1:8081", [whole]),
        Case("the name", "http", "one.test:8080/", [whole, lookup, phase("resolve")]),
        Case("the name of a tcp probe", "tcp", "two.test:8080", [whole, lookup]),
        Case("the answer of a name server", "dns", "127.0.0.1", [whole, phase("request", of: "dns")]),
    ]

    @Test("A delay is in the same series of both, and in no other", .timeLimit(.minutes(5)))
    func delays() async throws {
        let place = try SlowPlace(delay: Self.delay)
        let servers = try await place.start()
        let comparison = try await BlackboxComparison(Self.modules, place: place.namespace.inside())
        defer { comparison.stop() }
        for probe in Self.cases {
            let times = try await comparison.times(probe.module, probe.target)
            #expect(probe.delayed.isSubset(of: times.keys), "\(probe): \(times)")
            for (series, time) in times {
                for (program, seconds) in [("blackbox_exporter", time.older), ("tidegate", time.newer)] {
                    let isLate = seconds.map { $0 > Self.delay / 2 }
                    #expect(
                        isLate == probe.delayed.contains(series),
                        "\(probe): \(series) of \(program) is \(seconds.map { "\($0)" } ?? "missing")")
                }
                let difference = abs((time.older ?? 0) - (time.newer ?? 0))
                #expect(difference < Self.delay / 2, "\(probe): \(series): \(time)")
            }
        }
        withExtendedLifetime(servers) {}
    }
}

/// A namespace whose servers are late by a known time, each in one way.
private final class SlowPlace {
    let namespace: NetworkNamespace
    private let delay: Double

    init(delay: Double) throws {
        self.delay = delay
        self.namespace = try NetworkNamespace("s")
        try self.namespace.put("nameserver 127.0.0.1\n", "resolv.conf")
        // The kernel sends a SYN that was lost again after a second (RFC 6298).
        try self.namespace.run(["nft", Self.rules])
    }

    private static let rules = """
        table inet late {
          set seen { type inet_service; flags dynamic; size 65535; }
          chain in {
            type filter hook input priority 0;
            tcp dport 8081 tcp flags & (syn|ack) == syn tcp sport != @seen add @seen { tcp sport } drop
          }
        }
        """

    /// Starts the servers, which end when they are released.
    func start() async throws -> (names: ScriptedNameServer, web: RunningCommand, authority: TestAuthority) {
        let names = try ScriptedNameServer(
            after: .seconds(self.delay), at: IPAddress(ipv4: 0x7F00_0001), in: self.namespace
        ) { question in
            // A name without an IPv6 address would make Go ask twice.
            let loopback: [UInt16: [UInt8]] = [1: [127, 0, 0, 1], 28: [UInt8](repeating: 0, count: 15) + [1]]
            let type = DNSMessageBytes.type(of: question)
            let records = loopback[type].map { [DNSMessageBytes.Record(type, $0)] } ?? []
            return [DNSMessageBytes(answers: records).reply(to: question)]
        }
        let authority = try await TestAuthority()
        let identity = try await authority.sign(["localhost"])
        let web = try self.namespace.start([
            "python3", "-c", Self.web, "\(self.delay)", identity.certificate, identity.key,
        ])
        let prefix = self.namespace.inside()
        try await Program.answers("http://127.0.0.1:8080/", prefix: prefix)
        return (names, web, authority)
    }

    private static let web = """
        import socket, ssl, sys, threading, time
        delay = float(sys.argv[1])
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); tls.load_cert_chain(sys.argv[2], sys.argv[3])
        head = b'HTTP/1.1 %s\\r\\nContent-Length: 4\\r\\nConnection: close\\r\\n%s\\r\\n'
        def answer(c):
            request = b''
            while not request.endswith(b'\\r\\n\\r\\n'):
                part = c.recv(65536)
                if not part: return
                request += part
            path = request.split(b' ')[1]
            if path == b'/redirect': return c.sendall(head % (b'302 Found', b'Location: /processing\\r\\n') + b'tide')
            if path == b'/processing': time.sleep(delay)
            c.sendall(head % (b'200 OK', b'') + b'ti')
            if path == b'/transfer': time.sleep(delay)
            c.sendall(b'de')
        def serve(c, isTLS):
            try:
                c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if isTLS:
                    time.sleep(delay)
                    c = tls.wrap_socket(c, server_side=True)
                answer(c)
            except OSError: pass
            finally: c.close()
        def listen(port):
            s = socket.create_server(('127.0.0.1', port), backlog=64)
            while True: threading.Thread(target=serve, args=(s.accept()[0], port == 8443), daemon=True).start()
        for port in (8443, 8081): threading.Thread(target=listen, args=(port,), daemon=True).start()
        listen(8080)
        """
}
