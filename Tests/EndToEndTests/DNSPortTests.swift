import Foundation
import Testing
import TidegateTestKit

/// Where name servers are asked whose target says no port: in a namespace, where those ports are free.
@Suite(
    .enabled(if: NetworkNamespace.isAvailable && TestAuthority.isAvailable, "needs root, ip(8) and openssl(1)"),
    .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3"), "needs python3(1)"),
    .timeLimit(.minutes(5)))
struct DNSPortTests {
    // Each service answers with an address of its own.
    private static let servers = """
        import socket, ssl, struct, sys, threading
        def reply(question, last):
            record = b"\\xc0\\x0c" + struct.pack("!HHIH", 1, 1, 300, 4) + bytes([192, 0, 2, last])
            return question[:2] + b"\\x81\\0" + struct.pack("!HHHH", 1, 1, 0, 0) + question[12:] + record
        def datagrams():
            while True:
                question, peer = udp.recvfrom(4096)
                udp.sendto(reply(question, 1), peer)
        def streams(listener, context, last):
            while True:
                connection, _ = listener.accept()
                try:
                    stream = context.wrap_socket(connection, server_side=True) if context else connection
                    answer = reply(stream.recv(4096)[2:], last)
                    stream.sendall(struct.pack("!H", len(answer)) + answer)
                    stream.close()
                except (OSError, ssl.SSLError):
                    pass
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", 53))
        tcp, tls = (socket.create_server(("127.0.0.1", port)) for port in (53, 853))
        threading.Thread(target=streams, args=(tcp, None, 2), daemon=True).start()
        threading.Thread(target=streams, args=(tls, context, 3), daemon=True).start()
        print("listening", flush=True)
        datagrams()
        """

    @Test("Name servers are asked at port 53 by UDP and over TCP, and at port 853 over TLS")
    func defaults() async throws {
        let (namespace, bench) = (try NetworkNamespace(), try EndToEndFixture())
        let authority = try await TestAuthority()
        let identity = try await authority.sign(["IP:127.0.0.1"])
        try await bench.start(
            namespace.inside(["python3", "-c", Self.servers, identity.certificate, identity.key]), until: "listening")
        func module(_ last: Int, _ more: String) -> String {
            "{prober: dns, dns: {query_name: a.tide.test, query_type: A, preferred_ip_protocol: ip4\(more), "
                + "validate_answer_rrs: {fail_if_not_matches_regexp: ['192\\.0\\.2\\.\(last)$']}}}"
        }
        let encrypted = ", transport_protocol: tcp, dns_over_tls: true, tls_config: {ca_file: \(authority.certificate)}"
        try bench.write(
            """
            modules:
              udp: \(module(1, ""))
              tcp: \(module(2, ", transport_protocol: tcp"))
              tls: \(module(3, encrypted))
            """, to: "dns.yml")
        for name in ["udp", "tcp", "tls"] {
            let probe = try await Program.run(
                namespace.inside([
                    BuiltProduct.path(of: "tidegate"), "probe", "--config.file", bench.path("dns.yml"), name,
                    "127.0.0.1",
                ]))
            #expect(probe.status == 0, "\(name): \(probe.errors)")
            #expect(probe.output.contains("\nprobe_dns_answer_rrs 1\n"), "\(name): \(probe.output)")
        }
    }
}
