import ArgumentParser
import Testing

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
                OVERVIEW: Show why a host or URL is reachable or not, and which party is at
                fault.

                Checks every rung of the ladder for IPv4 and IPv6, from the interface to the
                HTTP response, and prints the evidence for each. Reads the kernel directly;
                needs no daemon and no privileges.

                Exit status: 0 if the target was reached, 1 if a rung failed, 3 if nothing
                could be checked.

                USAGE: tidegate explain <host[:port]|url> [-4] [-6] [--internet-check <url> ...] [--cacert <file>] [--timeout <duration>] [--json] [--quiet]

                ARGUMENTS:
                  <host[:port]|url>       A host, a host with a port, or a URL.

                OPTIONS:
                  -4                      Use IPv4 only.
                  -6                      Use IPv6 only.
                  --internet-check <url>  URL to check for internet access (repeatable).
                  --cacert <file>         CA certificates (PEM) to verify servers against,
                                          instead of the system's.
                  --timeout <duration>    Maximum time for all checks. (default: 20s)
                  --json                  Print one JSON object.
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

                Conditions: carrier[:IF], address[:IF][:v4|v6], route[:v4|v6], gateway, dns,
                internet, host:NAME[:PORT[/tcp|tls|http]]. A host without a port must be
                routed; with a port it must accept connections. The condition internet requests
                the URLs of --internet-check, or the connectivity checks of two well-known
                operators.

                With -- COMMAND, executes the command once the conditions hold.

                Exit status: 0 if the conditions hold, 1 if they did not hold within --timeout;
                the last line on standard error names the condition that is not met.

                USAGE: tidegate wait [--for <condition> ...] [--any] [--stable <duration>] [--timeout <duration>] [-4] [-6] [--internet-check <url> ...] [--quiet] -- [<command> ...]

                ARGUMENTS:
                  <command>               The command to execute once the conditions hold,
                                          after --.

                OPTIONS:
                  --for <condition>       Condition to wait for (repeatable; all must hold).
                  --any                   Wait until any of the conditions holds, instead of
                                          all.
                  --stable <duration>     Require the conditions to hold this long without a
                                          break. (default: 0)
                  --timeout <duration>    Maximum time to wait; 0 tests once, inf waits
                                          forever. (default: 2m)
                  -4                      Use IPv4 only.
                  -6                      Use IPv6 only.
                  --internet-check <url>  URL to check for internet access (repeatable).
                  -q, --quiet             Print errors only.
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

                Waits for the conditions (default: a default route), then runs the command. If
                it fails and the path was lost or moved while it ran or within two seconds
                after it ended, it is run again once there is a path. Any other failure is
                final.

                Conditions: carrier[:IF], address[:IF][:v4|v6], route[:v4|v6], gateway, dns,
                internet, host:NAME[:PORT[/tcp|tls|http]]. A host without a port must be
                routed; with a port it must accept connections. The condition internet requests
                the URLs of --internet-check, or the connectivity checks of two well-known
                operators.

                Exit status: that of the command, or 75 if there was no path within --timeout.

                USAGE: tidegate run [--for <condition> ...] [--retry <n>] [--timeout <duration>] [-4] [-6] [--internet-check <url> ...] [--quiet] -- [<command> ...]

                ARGUMENTS:
                  <command>               The command to run, after --.

                OPTIONS:
                  --for <condition>       Condition to wait for (repeatable; default: route).
                  --retry <n>             Maximum number of retries after failures with a lost
                                          path. (default: 3)
                  --timeout <duration>    Maximum time to wait for a path; 0 tests once, inf
                                          waits forever. (default: 10m)
                  -4                      Use IPv4 only.
                  -6                      Use IPv6 only.
                  --internet-check <url>  URL to check for internet access (repeatable).
                  -q, --quiet             Print errors only.
                  --version               Show the version.
                  -h, --help              Show help information.

                """)
    }

    @Test("fetch and tasks submit have the same request options")
    func message() throws {
        let section = """
              -X, --request <method>  Request method (default: GET, or what the body option
                                      implies).
              -H, --header <header>   Header field to send, as 'Name: value' (repeatable).
              --data <text>           POST this text as application/x-www-form-urlencoded.
              --json-body <text>      POST this text as application/json.
              --upload-file <file>    PUT this file.
              --sha256 <hex>          Fail unless the response body has this SHA-256 digest.
            """
        for arguments in [["fetch"], ["tasks", "submit"]] {
            let help = try #require(self.help(arguments))
            #expect(help.contains("\nREQUEST:\n\(section)\n"), "\(help)")
        }
    }
}
