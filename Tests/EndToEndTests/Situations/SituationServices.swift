import Foundation
import Tidegate
import TidegateTestKit

/// What listens in the servers' namespace.
///
/// 203.0.113.10 is a healthy web server; 11 does not exist; 20 to 23 have wrong certificates, or none on port 443; 24
/// to 28 accept connections and then misbehave; 30 is what internet checks ask; 53 is the resolver, over both versions of IP, 54 one that denies
/// and blocks names, 55 has none, 56 refuses, 57 is silent, 58 answers everything after 1.5 s.
final class SituationServices: Sendable {
    private static let numbers = [10, 20, 21, 22, 23, 24, 30, 53, 54, 55, 56, 57, 58]

    static let addresses =
        (["link set s0 up"] + numbers.map(address) + ["addr add 203.0.113.2/24 dev s0"]
        + ["route add default via 203.0.113.1", "route add default via 2001:db8:113::1"]).joined(separator: "\n")

    private static func address(_ number: Int) -> String {
        "addr add 203.0.113.\(number)/24 dev s0\naddr add 2001:db8:113::\(number)/64 dev s0 nodad"
    }

    private static let names = """
        203.0.113.10 www.example
        2001:db8:113::10 www.example
        203.0.113.10 v4.example
        203.0.113.10 multi.example
        203.0.113.11 multi.example
        203.0.113.20 selfsigned.example
        203.0.113.21 expired.example
        203.0.113.22 wrong.example
        203.0.113.23 plain.example
        203.0.113.24 reset.example
        203.0.113.30 check.example
        \(statuses.map { "203.0.113.10 s\($0).example" }.joined(separator: "\n"))
        """
    private static let statuses = [401, 403, 404, 429, 500, 503]

    private let programs: [RunningCommand]
    private let misbehaving: MisbehavingServer
    private let slowResolver: ScriptedNameServer

    init(_ files: SituationFiles, in namespace: NetworkNamespace) async throws {
        try files.write(Self.names, to: "names")
        try files.write(Self.nginx(files), to: "nginx.conf")
        // The silent resolver, and a web server's port that a firewall closes without a word.
        try ThreeHosts.filter(
            namespace,
            """
            table inet standing { chain in { type filter hook input priority 0;
            ip daddr 203.0.113.57 drop; tcp dport 9999 drop; }; }
            """)
        self.misbehaving = try MisbehavingServer(
            [
                22: .banner("SSH-2.0-OpenSSH_9.2p1\r\n"), 80: .reset, 443: .reset, 8080: .hang, 8443: .hang,
                8088: .slow(.seconds(4)), 8089: .slow(.milliseconds(300)),
            ],
            at: "203.0.113.24", in: namespace)
        self.slowResolver = try ScriptedNameServer(
            after: .milliseconds(1_500), at: IPAddress(ipv4: 0xCB00_713A), in: namespace
        ) { question in
            // 203.0.113.10 and 2001:db8:113::10.
            let four: [UInt8] = [203, 0, 113, 10]
            let six: [UInt8] = [0x20, 0x01, 0x0D, 0xB8, 0x01, 0x13] + Array(repeating: 0, count: 9) + [0x10]
            let type = DNSMessageBytes.type(of: question)
            return [DNSMessageBytes(answers: [.init(type, type == 28 ? six : four)]).reply(to: question)]
        }
        func nameServer(_ number: Int, _ options: [String]) throws -> RunningCommand {
            try namespace.start(
                [
                    "dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--no-resolv", "--no-hosts",
                    "--pid-file=", "--user=root", "--listen-address=203.0.113.\(number)", "--bind-interfaces",
                ] + options)
        }
        let root = "--address=/a.root-servers.net/198.41.0.4"
        let names = "--addn-hosts=\(files.path("names"))"
        self.programs = [
            try namespace.start(["nginx", "-e", "stderr", "-c", files.path("nginx.conf")]),
            try nameServer(
                53,
                [
                    "--listen-address=2001:db8:113::53", "--local=/example/", names, root,
                    "--address=/ads.example/203.0.113.10",
                ]),
            try nameServer(54, ["--local=/example/", root, "--address=/ads.example/0.0.0.0"]),
            try nameServer(56, []),
        ]
        try await Program.answers("http://203.0.113.10/", prefix: ["ip", "netns", "exec", namespace.name])
    }

    private static func nginx(_ files: SituationFiles) -> String {
        func tls(_ listen: String, _ identity: TestAuthority.Identity) -> String {
            """
            server { \(listen) ssl_certificate \(identity.certificate); ssl_certificate_key \(identity.key);
            location / { return 200 "hello\\n"; } location /slow { proxy_pass http://203.0.113.24:8088/; } }
            """
        }
        let statuses = self.statuses.map { "location /\($0) { return \($0); }" }.joined(separator: "\n")
        let keys = files.certificates
        return """
            daemon off; master_process off; pid \(files.path("nginx.pid")); user root; events {}
            http { access_log off;
            client_body_temp_path \(files.path("body")); proxy_temp_path \(files.path("proxy"));
            fastcgi_temp_path \(files.path("fastcgi")); uwsgi_temp_path \(files.path("uwsgi"));
            scgi_temp_path \(files.path("scgi"));
            server { listen 203.0.113.10:80; listen [2001:db8:113::10]:80;
            location / { return 200 "hello\\n"; } \(statuses) }
            server { listen 203.0.113.30:80; location / { return 204; } location /body { return 200 "hello\\n"; } }
            server { listen 203.0.113.23:443; location / { return 200 "hello\\n"; } }
            \(tls("listen 203.0.113.10:443 ssl; listen [2001:db8:113::10]:443 ssl;", keys.good))
            \(tls("listen 203.0.113.20:443 ssl;", keys.selfSigned))
            \(tls("listen 203.0.113.21:443 ssl;", keys.expired))
            \(tls("listen 203.0.113.22:443 ssl;", keys.wrongName))
            }
            """
    }
}
