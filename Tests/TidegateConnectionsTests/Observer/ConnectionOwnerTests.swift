import Foundation
import Glibc
import Testing
import TidegateCore
import TidegateTestKit

/// Which programs have the connections, as `tidegate connections --owner` says it.
@Suite(
    .enabled(if: NetworkNamespace.isAvailable, "network namespaces need root and ip(8)"), .timeLimit(.minutes(5)))
struct ConnectionOwnerTests {
    private struct Document: Decodable {
        struct Remote: Decodable {
            struct Program: Decodable, Equatable {
                let pid: Int32
                let name: String
            }

            let port: UInt16?
            let direction: String
            let programs: [Program]?
        }

        let remotes: [Remote]
    }

    private static let user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]

    private static func run(_ options: [String], in hosts: ThreeHosts, by starter: [String] = []) async throws -> String
    {
        try await Program.expect(
            ["ip", "netns", "exec", hosts.here.name] + starter + [
                BuiltProduct.path(of: "tidegate"), "connections", "--control.socket", "/nonexistent/sock",
            ] + options)
    }

    private static func remotes(_ text: String) throws -> [Document.Remote] {
        try JSONDecoder().decode(Document.self, from: Data(text.utf8)).remotes
    }

    // A server on the far host and a client here, which both keep their connection.
    private static func start(_ hosts: ThreeHosts) async throws -> (server: Program, client: Program) {
        let server = try Program([
            "ip", "netns", "exec", hosts.far.name, "python3", "-u", "-c",
            "import socket, time\nlistener = socket.create_server((\"\", 9000))\nprint(\"listening\")\n"
                + "connection = listener.accept()[0]\ntime.sleep(600)",
        ])
        try #require(await eventually { server.outputSoFar.contains("listening") })
        let client = try Program([
            "ip", "netns", "exec", hosts.here.name, "python3", "-u", "-c",
            "import socket, time\nopen(\"/proc/self/comm\", \"w\").write(\"some client\")\n"
                + "connection = socket.create_connection((\"\(ThreeHosts.farAddress.ipv4)\", 9000))\n"
                + "print(\"connected\")\ntime.sleep(600)",
        ])
        try #require(await eventually { client.outputSoFar.contains("connected") })
        return (server, client)
    }

    @Test("Programs are named with their numbers, in text and in JSON")
    func programs() async throws {
        let hosts = try ThreeHosts()
        let (server, client) = try await Self.start(hosts)
        defer { for program in [server, client] { program.signal(SIGKILL) } }
        let text = try await Self.run(["--owner"], in: hosts)
        #expect(text.contains("root") && text.contains("some client[\(client.id)]"), "\(text)")
        let remotes = try Self.remotes(try await Self.run(["--owner", "--json"], in: hosts))
        #expect(remotes.count == 1)
        #expect(remotes.first?.programs == [.init(pid: client.id, name: "some client")])
        // The request did not ask for them.
        #expect(try Self.remotes(try await Self.run(["--json"], in: hosts)).first?.programs == nil)
    }

    @Test("The program that accepted a connection is named, too")
    func incoming() async throws {
        let hosts = try ThreeHosts()
        let (server, client) = try await Self.start(hosts)
        defer { for program in [server, client] { program.signal(SIGKILL) } }
        let text = try await Program.expect([
            "ip", "netns", "exec", hosts.far.name, BuiltProduct.path(of: "tidegate"), "connections", "--owner",
            "--json",
            "--control.socket", "/nonexistent/sock",
        ])
        let remotes = try Self.remotes(text)
        #expect(remotes.map(\.direction) == ["in"])
        #expect(remotes.first?.port == 9000)
        #expect(remotes.first?.programs == [.init(pid: server.id, name: "python3")])
    }

    @Test("Without privileges the programs of other users have no names")
    func unprivileged() async throws {
        let hosts = try ThreeHosts()
        let (server, client) = try await Self.start(hosts)
        defer { for program in [server, client] { program.signal(SIGKILL) } }
        let remotes = try Self.remotes(try await Self.run(["--owner", "--json"], in: hosts, by: Self.user))
        #expect(remotes.map(\.programs) == [[]])
        let text = try await Self.run(["--owner"], in: hosts, by: Self.user)
        #expect(text.contains("root") && !text.contains("\(client.id)"), "\(text)")
        #expect(try await Self.run(["-v"], in: hosts, by: Self.user).contains("OWNER"))
        #expect(try await Self.run(["-q"], in: hosts, by: Self.user).isEmpty)
    }
}
