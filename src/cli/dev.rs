//! `hanse dev`: a server with cells to try things on, and what to try, as a person would type it.

use super::serve::{Signals, runtime};
use super::{answer, progress};
use crate::config::{self, Config};
use crate::demonstration::{Scale, Shown};
use crate::fleet::kubeconfig;
use crate::server::Server;
use std::error::Error;
use std::fmt::Write;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

/// What there is to place.
const EXAMPLE: &str = include_str!("../../examples/two-cities/web.yaml");

pub(super) fn run(config: Config, scale: Scale) -> Result<(), Box<dyn Error>> {
    runtime()?.block_on(serve(config, scale))
}

async fn serve(config: Config, scale: Scale) -> Result<(), Box<dyn Error>> {
    let signals = Signals::new()?;
    let dir = std::path::absolute(&config.data_dir)?;
    let working = progress::spinner("opening the store");
    let server = Server::start(config).await?;
    working.set_message(format!("making {} cells and {} projects", scale.cells, scale.projects));
    let shown = server.demonstrate(scale).await?;
    working.finish_and_clear();
    let files = Files::write(&dir, &std::fs::read_to_string(server.kubeconfig())?, &shown)?;
    let colour = io::stdout().is_terminal();
    answer(&greeting(&format!("https://{}", server.address()), &shown, &files, colour))?;
    signals.any().await;
    server.stop().await;
    Ok(())
}

/// What a person needs to begin with.
struct Files {
    kubeconfig: PathBuf,
    example: PathBuf,
    program: PathBuf,
}

impl Files {
    fn write(dir: &Path, admin: &str, shown: &Shown) -> Result<Self, Box<dyn Error>> {
        let files = Self {
            kubeconfig: dir.join("dev.kubeconfig"),
            example: dir.join("two-cities.yaml"),
            program: config::program(),
        };
        certs::write_private(&files.kubeconfig, &kubeconfig::with_contexts(admin, &shown.cells)?)?;
        std::fs::write(&files.example, EXAMPLE)?;
        Ok(files)
    }
}

fn greeting(url: &str, shown: &Shown, files: &Files, colour: bool) -> String {
    let (bold, plain) = if colour { ("\x1b[1m", "\x1b[0m") } else { ("", "") };
    let names: Vec<&str> = shown.cells.iter().map(|(name, _)| name.as_str()).collect();
    let cells = match names.as_slice() {
        [] => "no cells".to_owned(),
        few if few.len() <= 6 => format!("cells {}", few.join(", ")),
        many => format!("{} cells: {} and {} more", many.len(), many[..6].join(", "), many.len() - 6),
    };
    let first = names.first().unwrap_or(&"root");
    let (kubeconfig, example) = (files.kubeconfig.display(), files.example.display());
    let program = files.program.display();
    let steps = [
        (format!("export KUBECONFIG={kubeconfig}"), ""),
        ("kubectl get cells".to_owned(), "where things can go"),
        (format!("kubectl apply -f {example}"), "a Deployment, and the rule that runs it in dfw and ams"),
        (format!("{program} explain deployment/web"), "what was decided, and why"),
        (format!("kubectl --context {first} get deployments"), "what a cell has of it"),
    ];
    let mut text = format!("{bold}Hanse is ready:{plain} {url}, with {cells}.\n\nTry this in another terminal:\n\n");
    for (step, about) in steps {
        let about = if about.is_empty() { String::new() } else { format!("   # {about}") };
        let _ = writeln!(text, "  {bold}{step}{plain}{about}");
    }
    text.push_str("\nCtrl-C stops it; what was made is there again next time.\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_try_is_told_in_plain_text_unless_somebody_is_looking() {
        let files =
            Files { kubeconfig: "/d/dev.kubeconfig".into(), example: "/d/two.yaml".into(), program: "hanse".into() };
        let cell = |name: &str| (name.to_owned(), format!("root:cells:{name}"));
        let shown = Shown { cells: vec![cell("dfw"), cell("ams")], ids: Vec::new() };
        let text = greeting("https://127.0.0.1:6443", &shown, &files, false);
        let expected = "\
Hanse is ready: https://127.0.0.1:6443, with cells dfw, ams.

Try this in another terminal:

  export KUBECONFIG=/d/dev.kubeconfig
  kubectl get cells   # where things can go
  kubectl apply -f /d/two.yaml   # a Deployment, and the rule that runs it in dfw and ams
  hanse explain deployment/web   # what was decided, and why
  kubectl --context dfw get deployments   # what a cell has of it

Ctrl-C stops it; what was made is there again next time.
";
        assert_eq!(text, expected);
        assert!(greeting("", &shown, &files, true).contains("\x1b[1mkubectl get cells\x1b[0m"));
    }
}
