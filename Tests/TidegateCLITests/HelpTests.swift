import ArgumentParser
import Foundation
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

    /// Run with `TIDEGATE_WRITE_COMMANDS=1` to write the page anew.
    @Test("docs/cli.md has the help of every command")
    func reference() throws {
        let pages = try Self.commands(of: TidegateCommand.self, after: []).map { path in
            let help = try #require(self.help(Array(path.dropFirst())))
            return "## \(path.joined(separator: " "))\n\n```\n\(help.trimmingCharacters(in: .newlines))\n```\n"
        }
        let introduction = """
            # Commands

            The help of every command, as `tidegate help COMMAND` prints it. A test compares this page with the commands.


            """
        let file = URL(filePath: #filePath).appending(path: "../../../docs/cli.md").standardized
        guard ProcessInfo.processInfo.environment["TIDEGATE_WRITE_COMMANDS"] == nil else {
            return try (introduction + pages.joined(separator: "\n")).write(to: file, atomically: true, encoding: .utf8)
        }
        #expect(try String(contentsOf: file, encoding: .utf8) == introduction + pages.joined(separator: "\n"))
    }

    @Test("Every command that reports something has -q and -v")
    func verbosity() throws {
        for path in Self.commands(of: TidegateCommand.self, after: []) where !path.contains("generate") {
            let help = try #require(self.help(Array(path.dropFirst())))
            guard !help.contains("\nSUBCOMMANDS:") else { continue }
            #expect(help.contains("\n  -q, --quiet   ") && help.contains("\n  -v, --verbose   "), "\(path)")
        }
    }

    private static func commands(of command: any ParsableCommand.Type, after path: [String]) -> [[String]] {
        let own = path + [command.configuration.commandName ?? ""]
        return [own] + command.configuration.subcommands.flatMap { self.commands(of: $0, after: own) }
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
                                      PUT this file; fetch also takes a pipe, or - for
                                      standard input.
              --sha256 <hex>          Fail unless the response body has this SHA-256 digest.
            """
        for arguments in [["fetch"], ["tasks", "submit"]] {
            let help = try #require(self.help(arguments))
            #expect(help.contains("\nREQUEST:\n\(section)\n"), "\(help)")
        }
    }
}
