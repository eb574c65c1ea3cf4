internal import TidegateTestKit

/// Two namespaces connected by two veth pairs; deleted with this value.
struct VethPairFixture {
    let here: NetworkNamespace
    let there: NetworkNamespace

    init() throws {
        self.here = try NetworkNamespace("s")
        self.there = try NetworkNamespace("q")
        try self.here.ip("link add v0 index 77 type veth peer name p0 netns \(self.there.name)")
        try self.here.ip("link add v1 index 78 type veth peer name p1 netns \(self.there.name)")
        try self.there.batch(
            "link set p0 up\nlink set p1 up\naddr add 10.0.0.1/24 dev p0\naddr add 10.0.1.1/24 dev p1")
        try self.here.batch(
            """
            link set v0 up
            link set v1 up
            addr add 10.0.0.2/24 dev v0
            addr add 10.0.1.2/24 dev v1
            addr add 2001:db8::2/64 dev v0 nodad
            route add default via 10.0.0.1 metric 100
            route add default via 2001:db8::1
            """)
    }
}
