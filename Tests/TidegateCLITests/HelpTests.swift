import ArgumentParser
import Testing
import TidegateDaemon

@testable import TidegateCLI

@Suite struct HelpTests {
    private func help(_ arguments: String...) -> String? { self.help(arguments) }

    private func help(_ arguments: [String]) -> String? {
        do {
            var command = try TidegateCommand.parseAsRoot(arguments + ["--help"])
            try command.run()
            return nil
        } catch {
            let lines = ProgramExit(error, parsedBy: TidegateCommand.self).output?.split(
                separator: "\n", omittingEmptySubsequences: false)
            return lines?.map { String($0.reversed().drop { $0 == " " }.reversed()) }.joined(separator: "\n")
        }
    }

    @Test("The root command lists its subcommands")
    func root() {
        let help = self.help() ?? ""
        for command in ["status", "watch", "explain", "wait", "run", "fetch", "serve"] {
            #expect(help.contains("\n  \(command) "), "\(command)")
        }
    }

    @Test("explain --help")
    func explain() {
        #expect(
            self.help("explain") == """
                OVERVIEW: Show why a host or URL is reachable or not, and whose failure it is.

                Checks every rung of the ladder over IPv4 and IPv6, from the interface to the
                HTTP response. Of a target that works it prints the result, the way out, and
                what is worth knowing; of one that does not, what is wrong, whose failure it
                is, what to do, and the evidence of every rung. Without a target it answers why
                this host is offline: every way out, every resolver, and the configured targets
                where a daemon runs.

                Reads the kernel directly; needs no daemon and no privileges. Where a target or
                a resolver is silent, it sends a dozen packets with limited hops towards it and
                towards a public address, as traceroute does.

                Ends within 2 s, with three exceptions. Resolvers have 2.5 s, if the way out
                works. A target that is silent behind routers that answer gets 3.4 s, as its
                last router says only then that it is gone. A server that has taken a request
                gets all of --timeout for the first byte of its answer.

                Examples:
                  tidegate explain
                  tidegate explain https://example.com/
                  tidegate explain -v db.example.com:5432 10.0.0.7:22
                  tidegate explain --brief

                Exit status: 0 if every target works, 1 if one does not, 3 if nothing could be
                checked.

                USAGE: tidegate explain [<options>] [<host[:port]|url> ...]

                ARGUMENTS:
                  <host[:port]|url>       Hosts, hosts with a port, or URLs.

                OPTIONS:
                  -4                      Use IPv4 only.
                  -6                      Use IPv6 only.
                  --internet-check <url>  URL to check for internet access (repeatable).
                  --cacert <file>         CA certificates (PEM) to verify servers against,
                                          instead of the system's.
                  --proxy <url>           Proxy to use, as SCHEME://[USER:PASSWORD@]HOST:PORT;
                                          http, https, socks4a, socks5 or socks5h.
                  --proxy-from-environment
                                          Use the proxy that http_proxy, https_proxy, all_proxy
                                          and no_proxy name.
                  --noproxy <hosts>       Use no proxy for these hosts, domains and networks,
                                          separated by commas, or for any with *; instead of
                                          no_proxy.
                  --internet              Request the default internet check URLs, too.
                  --timeout <duration>    Maximum time for each target. (default: 5s)
                  --control.socket <path> Control socket of the daemon (default:
                                          \(Terminal.defaultPaths.socket)).
                  --control.user <name>   The user whose daemon listens there, besides root and
                                          yourself.
                  -v, --verbose           Print the ladder of a target that works, too, over
                                          both versions of IP.
                  --brief                 Print one sentence for each target.
                  --json                  Print one JSON object for each target.
                  -q, --quiet             Print nothing; only set the exit status.
                  --version               Show the version.
                  -h, --help              Show help information.

                """)
    }

    @Test("wait --help")
    func wait() {
        #expect(
            self.help("wait") == """
                OVERVIEW: Wait until network conditions hold.

                Conditions (default: route):
                  carrier[:IF]             a link has a carrier
                  address[:IF][:v4|v6]     a link has an address
                  route[:v4|v6]            there is a default route
                  gateway                  the default gateway answers on its link
                  dns                      a resolver answers when asked for a.root-servers.net
                  dns:NAME                 NAME has an address, looked up as programs do
                  internet                 the URLs of --internet-check answer as they should
                  host:NAME                there is a route to NAME, a name or an address
                  host:NAME:PORT[/tcp]     it accepts connections
                  host:NAME:PORT/tls       it completes a TLS handshake
                  host:NAME:PORT/http      it answers GET / with a status below 400
                  http://... https://...   a GET is answered with a status below 400

                Each check has 5 s. Redirects are answers and are not followed. Without
                --internet-check, internet asks the connectivity checks of two well-known
                operators.

                With -- COMMAND, executes the command once the conditions hold.

                Examples:
                  tidegate wait && git pull
                  tidegate wait --for dns --stable 5s -- ./sync
                  tidegate wait --for https://api.example.com/health --timeout 10m
                  tidegate wait --for host:db.example:5432 --timeout 0

                Exit status: 0 if the conditions hold, or that of the command; 75 if they did
                not hold within --timeout, 1 if they do not hold now and --timeout is 0; 126 if
                the command cannot be executed, 127 if it does not exist. The last line on
                standard error names the condition that is not met.

                USAGE: tidegate wait [--for <condition> ...] [-4] [-6] [--internet-check <url> ...] [--cacert <file>] [--quiet] [--any] [--stable <duration>] [--timeout <duration>] -- [<command> ...]

                ARGUMENTS:
                  <command>               The command to execute once the conditions hold,
                                          after --.

                OPTIONS:
                  --for <condition>       Condition to wait for (repeatable; default: route).
                  -4                      Use IPv4 only.
                  -6                      Use IPv6 only.
                  --internet-check <url>  URL to check for internet access (repeatable).
                  --cacert <file>         CA certificates (PEM) to verify servers against,
                                          instead of the system's.
                  -q, --quiet             Print errors only.
                  --any                   Wait until any of the conditions holds, instead of
                                          all.
                  --stable <duration>     Require the conditions to hold this long without a
                                          break. (default: 0)
                  --timeout <duration>    Maximum time to wait; 0 tests once, inf waits
                                          forever. (default: 2m)
                  --version               Show the version.
                  -h, --help              Show help information.

                """)
    }

    @Test("run --help")
    func run() {
        #expect(
            self.help("run") == """
                OVERVIEW: Run a command once there is a path; run it again if the path was
                lost.

                Waits for the conditions, then runs the command. If it fails and the path was
                lost or moved while it ran or within two seconds after it ended, it is run
                again once there is a path. Any other failure is final.

                Conditions (default: route):
                  carrier[:IF]             a link has a carrier
                  address[:IF][:v4|v6]     a link has an address
                  route[:v4|v6]            there is a default route
                  gateway                  the default gateway answers on its link
                  dns                      a resolver answers when asked for a.root-servers.net
                  dns:NAME                 NAME has an address, looked up as programs do
                  internet                 the URLs of --internet-check answer as they should
                  host:NAME                there is a route to NAME, a name or an address
                  host:NAME:PORT[/tcp]     it accepts connections
                  host:NAME:PORT/tls       it completes a TLS handshake
                  host:NAME:PORT/http      it answers GET / with a status below 400
                  http://... https://...   a GET is answered with a status below 400

                Each check has 5 s. Redirects are answers and are not followed. Without
                --internet-check, internet asks the connectivity checks of two well-known
                operators.

                Examples:
                  tidegate run -- rsync -a src dst:
                  tidegate run --for host:db.example:5432 --timeout 1h -- ./migrate

                Exit status: that of the command; 75 if the conditions did not hold within
                --timeout; 126 if the command cannot be executed, 127 if it does not exist.

                USAGE: tidegate run [--for <condition> ...] [-4] [-6] [--internet-check <url> ...] [--cacert <file>] [--quiet] [--retry <n>] [--timeout <duration>] -- [<command> ...]

                ARGUMENTS:
                  <command>               The command to run, after --.

                OPTIONS:
                  --for <condition>       Condition to wait for (repeatable; default: route).
                  -4                      Use IPv4 only.
                  -6                      Use IPv6 only.
                  --internet-check <url>  URL to check for internet access (repeatable).
                  --cacert <file>         CA certificates (PEM) to verify servers against,
                                          instead of the system's.
                  -q, --quiet             Print errors only.
                  --retry <n>             Maximum number of retries after failures with a lost
                                          path. (default: 3)
                  --timeout <duration>    Maximum time to wait for a path; 0 tests once, inf
                                          waits forever. (default: 10m)
                  --version               Show the version.
                  -h, --help              Show help information.

                """)
    }

    @Test("fetch and tasks submit have the same request options")
    func message() throws {
        let section = """
              -X, --request <method>  Request method (default: GET, or what the body option
                                      implies).
              -H, --header <header>   Header field 'Name: value', or @FILE (repeatable).
              --data <text>           POST this text as application/x-www-form-urlencoded.
              --json-body <text>      POST this text, or what is in @FILE, as
                                      application/json.
              -T, --upload-file <file>
                                      PUT this file.
              --sha256 <hex>          Fail unless the response body has this SHA-256 digest.
            """
        for arguments in [["fetch"], ["tasks", "submit"]] {
            let help = try #require(self.help(arguments))
            #expect(help.contains("\nREQUEST:\n\(section)\n"), "\(help)")
        }
    }
}
