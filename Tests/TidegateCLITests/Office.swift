import TidegateTestKit

/// A host with a default route to another one, and a name server of its own.
final class Office {
    let host: NetworkNamespace
    let router: NetworkNamespace

    init(resolver: String = "10.0.0.1") throws {
        self.host = try NetworkNamespace("h")
        self.router = try NetworkNamespace("r")
        // Equal indexes at both ends would make the kernel delay carrier events.
        try self.host.ip("link add v0 index 77 type veth peer name p0 netns \(self.router.name)")
        try self.router.batch("addr add 10.0.0.1/24 dev p0\naddr add 198.51.100.2/32 dev lo\nlink set p0 up")
        try self.host.batch("addr add 10.0.0.2/24 dev v0\nlink set v0 up\nroute add default via 10.0.0.1")
        try self.host.put("nameserver \(resolver)\n", "resolv.conf")
    }

    /// Starts a program on the host.
    func start(_ command: [String], environment: [String: String] = [:]) throws -> Program {
        try Program(["ip", "netns", "exec", self.host.name] + command, environment: environment)
    }

    func run(_ arguments: String...) async throws -> Program.Output {
        try await self.start([BuiltProduct.path(of: "tidegate")] + arguments).finish()
    }
}
