internal import Glibc
internal import TidegateTestKit
internal import TidegateTransfer

/// nginx with a certificate of a test's own for `localhost` and 127.0.0.1.
final class TLSServer {
    let port: UInt16
    /// The certificate, which is its own authority.
    let certificate: String
    private let folder: Folder
    private let program: Program

    static let isAvailable = ["/usr/sbin/nginx", "/usr/bin/openssl"].allSatisfy { (path: String) in
        access(path, X_OK) == 0
    }

    init() async throws {
        let folder = try Folder()
        let certificate = folder.path("cert.pem")
        try await Program.expect([
            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,DNS:xn--bcher-kva.example,IP:127.0.0.1",
            "-keyout", folder.path("key.pem"), "-out", certificate,
        ])
        let free = try LiveServer { _ in .respond() }
        free.stop()
        folder.write("nginx.conf", Array(TLSServer.configuration(folder, free.port).utf8))
        self.port = free.port
        self.certificate = certificate
        self.folder = folder
        self.program = try Program(["/usr/sbin/nginx", "-e", "stderr", "-c", folder.path("nginx.conf")])
        let port = self.port
        let isUp = await eventually { (try? AttemptRecorder.isListening(port)) == true }
        guard isUp else { throw NothingCame(description: "nginx: \(self.program.errorsSoFar)") }
    }

    // A child inherits the signals that its parent's thread blocks, SIGTERM among them here; it has no children itself.
    deinit { self.program.signal(SIGKILL) }

    func url(_ path: String = "/", host: String = "localhost") -> String { "https://\(host):\(self.port)\(path)" }

    private static func configuration(_ folder: Folder, _ port: UInt16) -> String {
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(folder.path("t"));" }.joined(separator: " ")
        return """
            daemon off; master_process off; pid \(folder.path("pid"));
            events { worker_connections 128; }
            http {
              access_log off; \(temporary)
              server {
                listen 127.0.0.1:\(port) ssl http2;
                ssl_certificate \(folder.path("cert.pem")); ssl_certificate_key \(folder.path("key.pem"));
                location / { return 200 "tide"; }
              }
            }
            """
    }
}

extension AttemptRecorder {
    /// Whether a process accepts connections on a port of this host.
    static func isListening(_ port: UInt16) throws -> Bool {
        try AttemptRecorder().run(AttemptRequest(1, "http://127.0.0.1:\(port)/")).reachedWire
    }
}
