import Foundation
import Testing
import TidegateTestKit

/// What `tidegate support` takes from a daemon that is not trusted.
@Suite(.timeLimit(.minutes(5)), .enabled(if: NetworkNamespace.isAvailable, "needs root and ip(8)"))
struct SupportTests {
    private static let daemon = """
        import json, socketserver, sys
        files = {"metrics.txt": "a", "../../" + sys.argv[2]: "b", "..": "c", "/tmp/" + sys.argv[2]: "d"}
        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                while self.rfile.readline().strip(): pass
                body = json.dumps(files)
                self.wfile.write(f"HTTP/1.1 200 OK\\r\\nContent-Length: {len(body)}\\r\\n\\r\\n{body}".encode())
        server = socketserver.UnixStreamServer(sys.argv[1], Handler)
        print("listening", flush=True)
        server.serve_forever()
        """

    @Test("A daemon's file names lead nowhere but into the archive")
    func names() async throws {
        let (namespace, name) = (try NetworkNamespace(), "tidegate-escaped-\(UUID().uuidString)")
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let daemon = try Program(["python3", "-c", Self.daemon, "\(folder)/sock", name])
        defer { daemon.signal(SIGKILL) }
        try #require(await eventually { daemon.outputSoFar.contains("listening") }, "\(daemon.errorsSoFar)")
        let command = ["support", "-o", "\(folder)/a.tar.gz", "--control.socket", "\(folder)/sock"]
        let report = try await Program.run(namespace.inside([BuiltProduct.path(of: "tidegate")] + command))
        #expect(report.status == 0, "\(report)")
        #expect(report.output.contains("\nmetrics.txt "), "\(report)")
        for place in [FileManager.default.temporaryDirectory.path, "/tmp"] {
            #expect(!FileManager.default.fileExists(atPath: "\(place)/\(name)"))
        }
    }
}
