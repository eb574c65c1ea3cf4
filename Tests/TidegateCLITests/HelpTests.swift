import ArgumentParser
import Testing

@testable import TidegateCLI

@Suite struct HelpTests {
    private func help(_ words: String...) -> String? { self.help(words) }

    private func help(_ words: [String]) -> String? {
        do {
            var command = try TidegateCommand.parseAsRoot(words + ["--help"])
            try command.run()
            return nil
        } catch {
            let lines = ProgramExit(error, parsedBy: TidegateCommand.self).answer?.split(
                separator: "\n", omittingEmptySubsequences: false)
            return lines?.map { String($0.reversed().drop { $0 == " " }.reversed()) }.joined(separator: "\n")
        }
    }

    @Test("The root lists what there is")
    func root() {
        let help = self.help() ?? ""
        for command in ["status", "watch", "explain", "wait", "run", "fetch", "serve"] {
            #expect(help.contains("\n  \(command) "), "\(command)")
        }
    }

    @Test("The help of explain tells the truth")
    func explain() {
        #expect(
            self.help("explain") == """
                OVERVIEW: Say why a host or URL can be reached or not, and whose fault it is.

                Climbs from the interface to the answer, for IPv4 and IPv6, and shows what it
                saw on every rung. Reads the kernel itself: needs no daemon and no privilege.
                Ends with 0 when the target was reached, 1 when a rung is bad, 3 when nothing
                could be told.

                USAGE: tidegate explain <host[:port]|url> [-4] [-6] [--internet-check <url> ...] [--cacert <file>] [--timeout <duration>] [--json] [--quiet]

                ARGUMENTS:
                  <host[:port]|url>       A host, a host with a port, or a URL.

                OPTIONS:
                  -4                      Look at IPv4 only.
                  -6                      Look at IPv6 only.
                  --internet-check <url>  Ask this URL whether the internet is there, as often
                                          as wanted.
                  --cacert <file>         Trust the authorities in this file instead of the
                                          system's.
                  --timeout <duration>    Take at most this time. (default: 20s)
                  --json                  Print one JSON object.
                  -q, --quiet             Say nothing: the exit code is the answer.
                  --version               Show the version.
                  -h, --help              Show help information.

                """)
    }

    @Test("The help of wait tells the truth")
    func wait() {
        #expect(
            self.help("wait") == """
                OVERVIEW: Wait until the network is as it should be.

                Conditions: carrier[:IF], address[:IF][:v4|v6], route[:v4|v6], gateway, dns,
                internet, host:NAME[:PORT[/tcp|tls|http]]. A host without a port has to be
                routed, with one it has to answer. The internet is asked at --internet-check,
                or at the well-known addresses of two operators. With -- COMMAND, the command
                takes this one's place once they hold. Ends with 1 when they did not hold in
                time; the last line on the standard error says what is missing.

                USAGE: tidegate wait [--for <condition> ...] [--any] [--stable <duration>] [--timeout <duration>] [-4] [-6] [--internet-check <url> ...] [--quiet] -- [<command> ...]

                ARGUMENTS:
                  <command>               The command to run once the conditions hold, after --.

                OPTIONS:
                  --for <condition>       Wait for this, as often as wanted.
                  --any                   One of the conditions is enough.
                  --stable <duration>     The conditions have to hold this long without a
                                          break. (default: 0)
                  --timeout <duration>    Give up after this time; 0 tests now, inf never gives
                                          up. (default: 2m)
                  -4                      Look at IPv4 only.
                  -6                      Look at IPv6 only.
                  --internet-check <url>  Ask this URL whether the internet is there, as often
                                          as wanted.
                  -q, --quiet             Say nothing while waiting.
                  --version               Show the version.
                  -h, --help              Show help information.

                """)
    }

    @Test("The help of run tells the truth")
    func run() {
        #expect(
            self.help("run") == """
                OVERVIEW: Run a command when there is a path, and again when it failed for want
                of one.

                Waits for the conditions (without --for: for a default route), then runs the
                command. Where it fails and the path was lost or moved meanwhile, or within two
                seconds of its end, it is run again once there is a path; any other failure
                ends this command with the code of that one. Ends with 75 when there was no
                path in the time of --timeout. Conditions: carrier[:IF], address[:IF][:v4|v6],
                route[:v4|v6], gateway, dns, internet, host:NAME[:PORT[/tcp|tls|http]]. A host
                without a port has to be routed, with one it has to answer. The internet is
                asked at --internet-check, or at the well-known addresses of two operators.

                USAGE: tidegate run [--for <condition> ...] [--retry <n>] [--timeout <duration>] [-4] [-6] [--internet-check <url> ...] [--quiet] -- [<command> ...]

                ARGUMENTS:
                  <command>               The command to run, after --.

                OPTIONS:
                  --for <condition>       Wait for this, as often as wanted (default: route).
                  --retry <n>             Run it again this often after a failure for want of a
                                          path. (default: 3)
                  --timeout <duration>    Wait this long for a path; 0 tests now, inf never
                                          gives up. (default: 10m)
                  -4                      Look at IPv4 only.
                  -6                      Look at IPv6 only.
                  --internet-check <url>  Ask this URL whether the internet is there, as often
                                          as wanted.
                  -q, --quiet             Say nothing of waiting and retrying.
                  --version               Show the version.
                  -h, --help              Show help information.

                """)
    }

    @Test("What a request says is said in the same words by fetch and by tasks submit")
    func message() throws {
        let section = """
              -X, --request <method>  The method; GET, or what a body asks for.
              -H, --header <header>   Send this header: 'Name: value'.
              --data <text>           Post this text as a form.
              --json-body <text>      Post this text as JSON.
              --upload-file <file>    Put this file.
              --sha256 <hex>          Fail unless the answer's SHA-256 is this; a file is
                                      then not put in its place.
            """
        for words in [["fetch"], ["tasks", "submit"]] {
            let help = try #require(self.help(words))
            #expect(help.contains("\nWHAT IS ASKED:\n\(section)\n"), "\(help)")
        }
    }
}
