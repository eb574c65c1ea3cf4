import Foundation
import Testing
import TidegateTestKit

/// WebSocket modules of a running daemon, which nginx leads to a server in Python: neither knows anything of ours.
@Suite(
    .enabled(
        if: ["nginx", "python3", "openssl"].allSatisfy { name in
            ["/usr/sbin/", "/usr/bin/"].contains { FileManager.default.isExecutableFile(atPath: $0 + name) }
        }, "needs nginx(8), python3(1) and openssl(1)"), .timeLimit(.minutes(5)))
struct WebSocketProbeTests {
    // A handshake by hand, a greeting, an echo; what is left of the connection goes unread.
    private static let script = """
        import base64, hashlib, socket, sys, threading
        listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
        print("listening", flush=True)
        def exactly(file, count):
            data = file.read(count)
            if len(data) < count: raise ConnectionError
            return data
        def frame(file):
            opcode, length = exactly(file, 2)
            assert length & 128, "not masked"
            length &= 127
            if length == 126: length = int.from_bytes(exactly(file, 2), "big")
            key = exactly(file, 4)
            return opcode & 15, bytes(byte ^ key[i % 4] for i, byte in enumerate(exactly(file, length)))
        def serve(connection):
            file = connection.makefile("rb")
            line, fields = file.readline().decode(), {}
            while (field := file.readline().decode().strip()):
                name, value = field.split(":", 1)
                fields[name.lower()] = value.strip()
            if fields.get("authorization") != "Bearer s3cret":
                connection.sendall(b"HTTP/1.1 403 No\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n")
                return connection.close()
            digest = hashlib.sha1((fields["sec-websocket-key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode())
            connection.sendall(b"HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: websocket\\r\\nConnection: Upgrade\\r\\n"
                b"Sec-WebSocket-Accept: " + base64.b64encode(digest.digest()) + b"\\r\\n\\r\\n")
            greeting = b"hello " + line.split()[1].encode()
            connection.sendall(bytes([0x81, len(greeting)]) + greeting)
            while True:
                opcode, data = frame(file)
                print(opcode, data, flush=True)
                connection.sendall(bytes([0x80 | opcode, len(data)]) + data)
                if opcode == 8: return connection.close()
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
        """

    private static let modules = """
        modules:
          chat:
            prober: websocket
            timeout: 10s
            websocket:
              http_config:
                bearer_token: s3cret
                tls_config: {insecure_skip_verify: true}
              query_response:
                - {expect: "^hello /(.+)$", send: "about ${1}"}
                - {expect: "^about room$"}
          stranger:
            prober: websocket
            timeout: 10s
            websocket: {http_config: {tls_config: {insecure_skip_verify: true}}}
        """

    @Test("A module gives blackbox_exporter's series over ws and wss, and a refusal its status")
    func probes() async throws {
        let bench = try EndToEndFixture()
        defer { bench.end() }
        let authority = try await TestAuthority()
        let identity = try await authority.sign(["localhost"])
        let (server, proxy, ready) = (try FreePort.find(), try FreePort.find(), try FreePort.find())
        let python = try await bench.start(["python3", "-c", Self.script, "\(server)"], until: "listening\n")
        try bench.write(Self.nginx(bench.folder.path, (proxy, ready, server), identity), to: "nginx.conf")
        _ = try bench.start(["nginx", "-p", bench.folder.path, "-c", bench.path("nginx.conf")])
        try await Program.answers("http://127.0.0.1:\(ready)/")
        let daemon = try await bench.startDaemon(Self.modules, port: try FreePort.find())
        func ask(_ path: String, _ parameters: String...) async throws -> String {
            try await daemon.get(path, ["-G"] + parameters.flatMap { ["--data-urlencode", $0] })
        }
        for target in ["ws://127.0.0.1:\(server)/room", "wss://127.0.0.1:\(proxy)/room"] {
            let samples = try await ask("/probe", "module=chat", "target=\(target)")
            for line in [
                "probe_success 1", "probe_websocket_status_code 101", "probe_websocket_connection_upgraded 1",
                "probe_websocket_failed_due_to_regex 0", "probe_ip_protocol 4",
            ] { #expect(samples.contains("\n\(line)\n"), "\(target): \(line) is not in \(samples)") }
            #expect(samples.contains("probe_websocket_duration_seconds{phase=\"processing\"}"))
            #expect(samples.contains("\nprobe_tls_version_info{version=\"TLS 1.") == target.hasPrefix("wss"))
        }
        #expect(await eventually { python.outputSoFar.split(separator: "\n").count == 5 }, "\(python.errorsSoFar)")
        #expect(
            python.outputSoFar.split(separator: "\n").dropFirst().sorted() == [
                "1 b'about room'", "1 b'about room'", "8 b'\\x03\\xe8'", "8 b'\\x03\\xe8'",
            ], "\(python.outputSoFar)")
        let refused = try await ask("/probe", "module=stranger", "target=wss://127.0.0.1:\(proxy)/room")
        #expect(refused.contains("\nprobe_success 0\n") && refused.contains("\nprobe_websocket_status_code 403\n"))
        #expect(refused.contains("probe_failure_info{reason=\"status\",party=\"theirs\"} 1"), "\(refused)")
        let shown = try await ask("/config")
        #expect(shown.contains("bearer_token: <secret>") && !shown.contains("s3cret"))
        let log = try await ask("/probe", "module=chat", "target=ws://127.0.0.1:\(server)/room", "debug=true")
        #expect(log.contains("Probe succeeded") && !log.contains("s3cret"))
    }

    private static func nginx(
        _ folder: String, _ ports: (proxy: Int, ready: Int, server: Int), _ identity: TestAuthority.Identity
    ) -> String {
        let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(folder)/\($0);" }.joined(separator: " ")
        return """
            daemon off; user root; pid \(folder)/nginx.pid; error_log stderr;
            events {}
            http {
              access_log off; \(paths)
              server { listen 127.0.0.1:\(ports.ready); return 204; }
              server {
                listen 127.0.0.1:\(ports.proxy) ssl;
                ssl_certificate \(identity.certificate); ssl_certificate_key \(identity.key);
                location / {
                  proxy_pass http://127.0.0.1:\(ports.server); proxy_http_version 1.1;
                  proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection "upgrade";
                }
              }
            }
            """
    }
}
