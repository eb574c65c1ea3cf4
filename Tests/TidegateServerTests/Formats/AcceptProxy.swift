internal import Foundation
internal import TidegateTestKit

/// nginx between a scraper and the endpoint: whatever is asked for, it asks for one format.
struct AcceptProxy {
    static let isInstalled = FileManager.default.isExecutableFile(atPath: "/usr/sbin/nginx")

    let port: Int
    private let program: Program
    private let folder: URL

    /// Starts one in front of `target`, and waits until it answers.
    init(to target: Int, accepting type: String) async throws {
        self.port = try FreePort.find()
        self.folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        let configuration = """
            daemon off; master_process off; pid \(self.folder.path)/pid; error_log stderr;
            events {}
            http {
                access_log off; client_body_temp_path \(self.folder.path); proxy_temp_path \(self.folder.path);
                server {
                    listen 127.0.0.1:\(self.port);
                    location / {
                        proxy_pass http://127.0.0.1:\(target); proxy_set_header Accept "\(type)";
                        proxy_buffers 64 32k;
                    }
                }
            }

            """
        let file = self.folder.appendingPathComponent("nginx.conf")
        try configuration.write(to: file, atomically: true, encoding: .utf8)
        self.program = try Program(["/usr/sbin/nginx", "-e", "stderr", "-c", file.path])
        try await Program.answers("http://127.0.0.1:\(self.port)/-/healthy")
    }

    func stop() {
        self.program.signal(SIGKILL)
        try? FileManager.default.removeItem(at: self.folder)
    }
}
