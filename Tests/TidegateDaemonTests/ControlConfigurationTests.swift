import Testing
import Tidegate

@testable import TidegateDaemon

@Suite struct ControlConfigurationTests {
    @Test(
        "Mistakes about the control socket are named",
        arguments: [
            ("control: {directories: [srv/in]}", "control.directories[0]: \"srv/in\" is not an absolute file path"),
            ("control: {directories: [/srv/in, /]}", "control.directories[1]: \"/\" is not an absolute file path"),
            ("control: {directories: [/srv/in/]}", "control.directories[0]: \"/srv/in/\" is not an absolute file path"),
            ("control: {directory: /srv}", "control.directory: unknown key"), ("control: [/srv]", "control: expected "),
        ])
    func mistakes(_ text: String, _ message: String) throws {
        let error = try #require(throws: ConfigurationError.self) { try Configuration.parse(text, file: "t.yml") }
        #expect(error.description.hasPrefix("t.yml:1: \(message)"), "\(error.description)")
    }

    @Test("Members may name files below the directories of the configuration; below none by default")
    func directories() throws {
        #expect(try Configuration.parse("journal: {}", file: "t.yml").memberDirectories.isEmpty)
        let configuration = try Configuration.parse("control: {directories: [/srv/in, /srv/out]}", file: "t.yml")
        #expect(configuration.memberDirectories == ["/srv/in", "/srv/out"])
        #expect(ConfigurationTemplate.text.contains("\n  directories: []\n"))
    }
}
