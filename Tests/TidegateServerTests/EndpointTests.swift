import Glibc
import Testing
import TidegateCore
import TidegateTestKit

@testable import TidegateServer

@Suite(.serialized) struct EndpointTests {
    @Test("Requests over a real socket are answered")
    func live() async throws {
        let fixture = Fixture()
        try await fixture.serving { (port: Int) in
            let page = try await RawConnection.ask(port: port, "/")
            #expect(page.status == 200)
            #expect(page.body.contains("<h1>"))
            #expect(page.fields["x-content-type-options"] == "nosniff")
            #expect(page.fields["cache-control"] == "no-store")
            #expect(page.fields["content-length"] == String(page.body.utf8.count))
            #expect(page.fields["date"]?.hasSuffix(" GMT") == true)
            let metrics = try await RawConnection.ask(
                port: port, "/metrics", fields: "Accept: application/openmetrics-text;version=1.0.0\r\n")
            #expect(metrics.fields["content-type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8")
            #expect(metrics.fields["vary"] == "Accept, Accept-Encoding")
            #expect(metrics.fields["content-encoding"] == nil)
            #expect(metrics.body.hasSuffix("# EOF\n"))
            #expect(metrics.body.contains("tidegate_http_requests_total{handler=\"page\",code=\"200\"} 1\n"))
            #expect(metrics.body.contains("tidegate_http_requests_in_flight 1\n"))
            #expect(try await RawConnection.ask(port: port, "/nothing").status == 404)
        }
    }

    @Test("HEAD is GET without the body")
    func head() async throws {
        try await Fixture().serving { (port: Int) in
            let head = try await RawConnection.ask(port: port, "/api/v1/status", method: "HEAD")
            let get = try await RawConnection.ask(port: port, "/api/v1/status")
            #expect(head.status == 200)
            #expect(head.body.isEmpty)
            #expect(head.fields["content-length"] == get.fields["content-length"])
            #expect(head.fields["content-type"] == get.fields["content-type"])
        }
    }

    @Test("Other methods get 405 with Allow, and their body is ignored")
    func methods() async throws {
        try await Fixture().serving { (port: Int) in
            let response = try await RawConnection.exchange(
                port: port,
                "POST /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello")
            #expect(response.status == 405)
            #expect(response.fields["allow"] == "GET, HEAD")
        }
    }

    @Test("A connection serves one request after another")
    func keepAlive() async throws {
        try await Fixture().serving { (port: Int) in
            let connection = try await RawConnection.open(port: port)
            defer { connection.close() }
            for _ in 0..<3 {
                try connection.send("GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n")
                #expect(await connection.response().body == "Tidegate is healthy.\n")
            }
        }
    }

    @Test("Each address has a server, and the chosen ports are reported")
    func addresses() async throws {
        var fixture = Fixture()
        fixture.configuration.listen = try ["127.0.0.1:0", "127.0.0.1:0", "[::1]:0"].map { try ListenAddress($0) }
        try await fixture.servingAddresses { (addresses: [ListenAddress]) in
            #expect(addresses.map(\.host) == ["127.0.0.1", "127.0.0.1", "::1"])
            #expect(Set(addresses.map(\.port)).count == 3)
            #expect(addresses.allSatisfy { $0.port > 0 })
            for address in addresses.prefix(2) {
                #expect(try await RawConnection.ask(port: address.port, "/-/ready").status == 200)
            }
            let six = try await Program.expect(["curl", "-sf", "http://\(addresses[2])/-/healthy"])
            #expect(six == "Tidegate is healthy.\n")
        }
    }

    @Test("A port in use is named, and no other address stays open")
    func portInUse() async throws {
        let first = Fixture()
        try await first.serving { (port: Int) in
            var second = Fixture()
            let taken = ListenAddress(host: "127.0.0.1", port: port)
            second.configuration.listen = [ListenAddress(host: "127.0.0.1", port: 0), taken]
            await #expect(throws: TextError("cannot listen on 127.0.0.1:\(port): the port is in use")) {
                try await second.serving { (_: Int) in }
            }
        }
    }

    @Test("A socket that listens already is served, and one that the kernel ends is an error")
    func inherited() async throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let bound = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        try #require(bound == 0 && listen(descriptor, 8) == 0)
        var fixture = Fixture()
        fixture.configuration.listen = [ListenAddress(host: "127.0.0.1", port: 0, descriptor: descriptor)]
        let endpoint = fixture.endpoint()
        let ports = AsyncStream.makeStream(of: Int.self)
        let running = Task { try await endpoint.run { ports.continuation.yield($0.first?.port ?? 0) } }
        let port = try #require(await ports.stream.first { _ in true })
        #expect(try await RawConnection.ask(port: port, "/-/healthy").status == 200)
        // What the kernel answers to accept(2) afterwards is EINVAL.
        shutdown(descriptor, Int32(SHUT_RDWR))
        let error = await #expect(throws: TextError.self) { try await running.value }
        #expect(error?.description == "cannot listen on 127.0.0.1:0: it stopped accepting connections")
    }

    @Test("A foreign address and a name without an address are different errors")
    func badAddresses() async throws {
        var fixture = Fixture()
        let foreign = ListenAddress(host: "192.0.2.1", port: 0)
        fixture.configuration.listen = [foreign]
        await #expect(throws: TextError("cannot listen on 192.0.2.1:0: this host does not have the address")) {
            try await fixture.serving { (_: Int) in }
        }
        let nameless = ListenAddress(host: "name.invalid", port: 0)
        fixture.configuration.listen = [nameless]
        await #expect(throws: TextError("cannot listen on name.invalid:0: the host name has no address")) {
            try await fixture.serving { (_: Int) in }
        }
    }
}
