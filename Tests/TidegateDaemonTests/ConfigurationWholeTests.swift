import Testing

@testable import TidegateDaemon

@Suite struct ConfigurationWholeTests {
    @Test("Values that do not go together are found whenever the file is read, by a reload too")
    func together() {
        let error = #expect(throws: ConfigurationError.self) {
            try Configuration.parse("transfers: {retry: {base: 10m, cap: 1s}}", file: "t.yml")
        }
        #expect(
            error?.description == "t.yml: retry.cap: the longest delay must not be shorter than retry.base",
            "\(error?.description ?? "")")
    }
}
