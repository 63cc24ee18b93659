// Starts xir-lsp for .mlir files. What the editor shows comes from there.

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = async () => {
  const [command, ...args] = vscode.workspace.getConfiguration("xir").get("server");
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  client = new LanguageClient(
    "xir",
    "xir-lsp",
    { command, args, options: { cwd: folder } },
    { documentSelector: [{ language: "mlir" }] },
  );
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(
      `'${command}' does not start (${error.message}): pip install 'xir[lsp]', or set xir.server to where it is.`,
    );
  }
};

exports.deactivate = () => client?.stop();
